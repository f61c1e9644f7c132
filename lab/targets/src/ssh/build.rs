//! A directory of this host, for example a build, in which a program runs on another host. It is
//! packed here, and unpacked there once per connection.

use super::link::{Answer, Asked, Link, NoAnswer};
use crate::agent::{GuestProgram, Plan, ProgramEnd};
use crate::{Ending, StopFlag, TargetError};
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// Maximum size of a directory's files: the agent takes no larger request.
const MOST_BYTES: u64 = 250 << 20;

/// Time limit for unpacking.
const UNPACK_LIMIT: Duration = Duration::from_secs(300);

/// The remote shell's script with the directory and the packed file.
const UNPACK: &str = "mkdir -m 700 \"$1\" && tar -xf \"$2\" -C \"$1\" && rm \"$2\"";

/// Fails if a directory has too many bytes to be sent, or cannot be read.
pub fn check_size(directory: &Path) -> Result<(), TargetError> {
    let error = |problem: String| TargetError {
        problem,
        hint: "`keep = [\"prog\"]` in faultline.toml keeps of a build only what its program needs".to_owned(),
    };
    let bytes = bytes_in(directory).map_err(|why| error(format!("cannot read {}: {why}", directory.display())))?;
    match bytes <= MOST_BYTES {
        true => Ok(()),
        false => Err(error(format!(
            "the build {} has {} MiB, and at most {} are sent to a host",
            directory.display(),
            bytes >> 20,
            MOST_BYTES >> 20
        ))),
    }
}

fn bytes_in(directory: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        // A link is packed as a link.
        let metadata = entry.metadata()?;
        bytes += if metadata.is_dir() { bytes_in(&entry.path())? } else { metadata.len() };
    }
    Ok(bytes)
}

fn packed(directory: &Path) -> std::io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    archive.follow_symlinks(false);
    // Modes and contents without owners, which the host may not have.
    archive.mode(tar::HeaderMode::Deterministic);
    archive.append_dir_all(".", directory)?;
    archive.into_inner()
}

/// Reason why a directory is not on the host.
pub(super) enum NotBrought {
    /// The connection is no longer usable.
    NoAnswer(NoAnswer),
    /// Sending is impossible; the reason. The connection stays usable.
    Impossible(Box<Link>, String),
}

/// Sends a directory to the host, unless this connection did before. Returns its path there.
pub(super) fn bring(mut link: Link, directory: &Path, stop: &StopFlag) -> Result<(Link, String), NotBrought> {
    if let Some(there) = link.brought(directory) {
        return Ok((link, there));
    }
    let bytes = match check_size(directory)
        .map_err(|error| error.problem)
        .and_then(|()| packed(directory).map_err(|error| format!("cannot read {}: {error}", directory.display())))
    {
        Ok(bytes) => bytes,
        Err(why) => return Err(NotBrought::Impossible(Box::new(link), why)),
    };
    let name = link.next_build();
    let file = GuestProgram { name: format!("{name}.tar"), bytes };
    link = link.put(&file, stop).map_err(NotBrought::NoAnswer)?;
    let (there, archive) =
        (format!("{}/{name}", link.directory()), format!("{}/workloads/{}", link.directory(), file.name));
    let mut plan = Plan::default();
    plan.add(&["run", "/bin/sh", "-c", UNPACK, "sh", &there, &archive]);
    let mut unpacked = ProgramEnd::default();
    let asked = Asked { plan: &plan, limit: UNPACK_LIMIT };
    let ignore = &mut |_: &[u8]| ControlFlow::Continue(());
    let (mut link, answer) =
        link.ask(&asked, &mut |frame| unpacked.take(frame, ignore), stop).map_err(NotBrought::NoAnswer)?;
    let how = match (answer, unpacked.ending) {
        (Answer::Done, Some(Ending::Exited { status: 0, .. })) => {
            link.note_brought(directory, &there);
            return Ok((link, there));
        }
        (Answer::Done, Some(Ending::Exited { status, stderr })) => {
            let last = stderr.lines().last().unwrap_or_default();
            format!("status {status} {}", last.chars().filter(|c| !c.is_control()).collect::<String>())
        }
        (Answer::Failed(text) | Answer::LeftChanged(text), _) => text,
        (Answer::TimedOut, _) => format!("it did not end within {} s", UNPACK_LIMIT.as_secs()),
        (Answer::Done, _) => "its result is unknown".to_owned(),
    };
    Err(NotBrought::Impossible(Box::new(link), format!("the build could not be unpacked on the host: {how}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    #[test]
    fn a_directory_is_packed_as_the_host_unpacks_it() {
        let place = tempfile::tempdir().unwrap();
        let (from, to) = (place.path().join("from"), place.path().join("to"));
        std::fs::create_dir_all(from.join("bin")).unwrap();
        std::fs::write(from.join("bin/prog"), "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(from.join("bin/prog"), std::fs::Permissions::from_mode(0o755)).unwrap();
        symlink("bin/prog", from.join("a link 'to'")).unwrap();
        let archive = place.path().join("x.tar");
        std::fs::write(&archive, packed(&from).unwrap()).unwrap();
        let unpacked = Command::new("sh").args(["-c", UNPACK, "sh"]).arg(&to).arg(&archive).status().unwrap();
        assert!(unpacked.success() && !archive.exists());
        assert_eq!(std::fs::read_link(to.join("a link 'to'")).unwrap(), Path::new("bin/prog"));
        assert_eq!(to.join("bin/prog").metadata().unwrap().permissions().mode() & 0o777, 0o755);
        assert!(check_size(&from).is_ok() && check_size(&place.path().join("nowhere")).is_err());
    }
}
