//! The disk on which the agent and the programs get into a system that is reached at its serial console: a tar archive whose first file is a script that starts the
//! agent. A serial line would take minutes for them. Which system it is shows only when somebody has logged in, so each one's programs are there, in a directory of
//! their own.

use crate::agent::Programs;
use std::io;

/// The script, and its name, by which the disk is found.
const START: &str = include_str!("start.sh");
const START_NAME: &str = "faultline.sh";

/// For the owner alone, who may start them.
const MODE: u32 = 0o700;

/// A disk ends with a whole one of these: controllers of old disks count in larger units than sectors.
const UNIT_BYTES: usize = 1 << 20;

/// All bytes of the disk. Fails if a name does not fit.
pub(super) fn bytes(systems: &[Programs]) -> io::Result<Vec<u8>> {
    let mut archive = tar::Builder::new(Vec::new());
    put(&mut archive, START_NAME, START.as_bytes())?;
    for Programs { system, agent, programs } in systems {
        let directory = system.directory_name();
        put_directory(&mut archive, &directory)?;
        put(&mut archive, &format!("{directory}/agent"), agent)?;
        for program in programs {
            put(&mut archive, &format!("{directory}/workloads/{}", program.name), &program.bytes)?;
        }
    }
    let mut bytes = archive.into_inner()?;
    bytes.resize(bytes.len().next_multiple_of(UNIT_BYTES), 0);
    Ok(bytes)
}

/// Busybox' tar finds in an archive what stands there by its name alone, and complains of a directory that only its files name.
fn put_directory(archive: &mut tar::Builder<Vec<u8>>, path: &str) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_size(0);
    header.set_mode(MODE);
    archive.append_data(&mut header, path, io::empty())
}

fn put(archive: &mut tar::Builder<Vec<u8>>, path: &str, bytes: &[u8]) -> io::Result<()> {
    let mut header = tar::Header::new_ustar();
    header.set_size(bytes.len() as u64);
    header.set_mode(MODE);
    archive.append_data(&mut header, path, bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::{GuestProgram, System};
    use crate::search_path;
    use std::os::unix::fs::PermissionsExt;
    use std::process::Command;

    #[test]
    fn every_tar_unpacks_it_and_its_first_file_is_the_script() {
        let programs = |said: &str, byte: u8| Programs {
            system: System::parse(said).unwrap(),
            agent: b"agent".to_vec(),
            programs: vec![GuestProgram { name: "x".to_owned(), bytes: vec![byte; 1000] }],
        };
        let disk = bytes(&[programs("Linux x86_64", 7), programs("NetBSD amd64", 8)]).unwrap();
        assert!(disk.starts_with(START_NAME.as_bytes()) && disk.len() == UNIT_BYTES);
        assert_eq!(&disk[512..512 + START.len()], START.as_bytes());
        assert!(START.ends_with("\nexit\n"), "what comes after it on the disk is not run");
        let place = tempfile::tempdir().unwrap();
        let file = place.path().join("disk");
        std::fs::write(&file, disk).unwrap();
        let mut tars: Vec<&[&str]> = vec![&["tar"]];
        if search_path::find("busybox").is_some() {
            tars.push(&["busybox", "tar"]);
        }
        for tar in tars {
            let mut command = Command::new(tar[0]);
            command.args(&tar[1..]).arg("-xf").arg(&file).arg("-C").arg(place.path()).arg("x86_64-netbsd");
            assert!(command.status().unwrap().success() && !place.path().join("x86_64-linux").exists(), "{tar:?}");
        }
        assert_eq!(std::fs::read(place.path().join("x86_64-netbsd/workloads/x")).unwrap(), [8; 1000]);
        let mode = place.path().join("x86_64-netbsd/agent").metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
    }
}
