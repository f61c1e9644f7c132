//! The emulator's program: path, version, capabilities. Finding it boots nothing.

use crate::counting::model;
use crate::host::{Host, HostPaths};
use crate::{Target, TargetError, search_path};
use faultline_record::facts::Facts;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::command_line::CommandLine;

/// The emulator's file name.
pub const PROGRAM: &str = "qemu-system-x86_64";

/// The oldest QEMU under which a machine with the lens's plugin repeats itself. With 7.2 and a
/// count of instructions as its clock, a machine's further CPUs do not start.
const LEAST_UNDER_LENS: u32 = 10;

/// Time limit for the emulator's start. It loads many libraries, which took more than 10 s on a
/// host with ten times as many busy processes as CPUs.
const LONGEST_START: Duration = Duration::from_secs(60);

/// QEMU's full-system emulator of x86-64.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Emulator {
    pub(super) program: PathBuf,
    /// As the emulator prints it.
    pub(super) version: String,
    takes_plugins: bool,
}

impl Emulator {
    /// The named emulator, otherwise the first in `PATH`. Fails if there is none, or if it does not
    /// run.
    pub fn find(named: Option<&Path>) -> Result<Self, TargetError> {
        let program = match named {
            Some(file) if !search_path::is_executable(file) => Err(TargetError {
                problem: format!("there is no program {}", file.display()),
                hint: format!("`--qemu FILE` names QEMU's program {PROGRAM}"),
            }),
            Some(file) => Ok(file.to_owned()),
            None => search_path::find(PROGRAM).ok_or_else(|| TargetError {
                problem: format!("there is no {PROGRAM} here"),
                hint: "`make emulator` provides one; `--qemu FILE` names one".to_owned(),
            }),
        }?;
        let ask = |argument: &str| {
            search_path::read(program.as_os_str(), &[argument], LONGEST_START).map_err(|problem| TargetError {
                problem: format!("{} {argument}: {problem}", program.display()),
                hint: "start it by hand to see why; `--qemu FILE` names another".to_owned(),
            })
        };
        let version = ask("--version")?.lines().next().unwrap_or_default().to_owned();
        let takes_plugins = model::are_known_to(&ask("-help")?);
        Ok(Emulator { program, version, takes_plugins })
    }

    /// The version as the emulator prints it.
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Fails if machines cannot run under the lens in this emulator: it was built without plugins,
    /// or is too old.
    pub fn must_suit_the_lens(&self) -> Result<(), TargetError> {
        let program = self.program.display();
        let problem = match major(&self.version) {
            _ if !self.takes_plugins => format!("{program} was built without plugins"),
            Some(major) if major >= LEAST_UNDER_LENS => return Ok(()),
            Some(_) => format!("{program} is too old for the lens ({})", self.version),
            None => format!("{program} does not say which version of QEMU it is"),
        };
        let hint =
            format!("QEMU {LEAST_UNDER_LENS} or newer is needed: `make emulator` provides it; `--qemu FILE` names it");
        Err(TargetError { problem, hint })
    }
}

/// The first number of QEMU's version, as in `QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)`.
fn major(version: &str) -> Option<u32> {
    let numbers = version.strip_prefix("QEMU emulator version ")?;
    numbers.split('.').next()?.parse().ok()
}

/// Key of the emulator's version.
pub const EMULATOR_VERSION: &str = "emulator.version";

/// Key prefixes of facts that are taken from the host, because they say more than those of a guest
/// that has just booted.
const IN_PLACE: [&str; 4] = ["load.", "host.", "boot.id", "faultline.version"];

/// Further facts of the host that influence an emulator's speed. Their keys get the prefix `host.`.
const BESIDE: [&str; 6] =
    ["cpu.", "cgroup.", "clock.source", "kernel.release", "memory.total_bytes", "virtualisation."];

/// The host's part of a guest's facts.
pub(crate) fn of_host(host: &HostPaths) -> Facts {
    let mut facts = Facts::default();
    for (key, value) in Host::new(host.clone()).facts().0 {
        let begins_with_one_of = |beginnings: &[&str]| beginnings.iter().any(|beginning| key.starts_with(beginning));
        if begins_with_one_of(&IN_PLACE) {
            facts.0.insert(key, value);
        } else if begins_with_one_of(&BESIDE) {
            facts.0.insert(format!("host.{key}"), value);
        }
    }
    facts
}

/// Adds the emulator's version and its arguments.
pub(super) fn put_emulator(facts: &mut Facts, emulator: &Emulator, command_line: &CommandLine<'_>) {
    let words = command_line.arguments();
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    facts.text(EMULATOR_VERSION, &emulator.version);
    facts.text("emulator.arguments", words.join(" "));
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    /// A program that prints this version, and help with or without plugins.
    fn fake(directory: &Path, version: &str, help: &str) -> PathBuf {
        let file = directory.join(PROGRAM);
        fs::write(&file, format!("#!/bin/sh\n[ $1 = -help ] && echo '{help}' || echo '{version}'\n")).unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        file
    }

    fn problem(version: &str, help: &str) -> Option<String> {
        let directory = tempfile::tempdir().unwrap();
        let file = fake(directory.path(), version, help);
        let emulator = Emulator::find(Some(&file)).unwrap();
        assert_eq!((&emulator.program, &emulator.version), (&file, &version.to_owned()));
        let error = emulator.must_suit_the_lens().err()?;
        assert!(error.hint.contains("QEMU 10 or newer"), "{error}");
        Some(error.problem.replace(&file.display().to_string(), "qemu"))
    }

    #[test]
    fn an_emulator_for_the_lens_is_new_enough_and_takes_plugins() {
        let plugins = "-plugin [file=]<file>";
        assert_eq!(problem("QEMU emulator version 10.0.2 (Debian 1:10.0.2+ds-2)", plugins), None);
        assert_eq!(problem("QEMU emulator version 11.1.50 (v11.1.0-12-gabc)", plugins), None);
        let old = "QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg-7)";
        assert_eq!(problem(old, plugins).unwrap(), format!("qemu is too old for the lens ({old})"));
        let other = problem("Another emulator 12.0", plugins).unwrap();
        assert_eq!(other, "qemu does not say which version of QEMU it is");
        let none = problem("QEMU emulator version 10.0.2", "-strace").unwrap();
        assert_eq!(none, "qemu was built without plugins");
    }

    #[test]
    fn a_named_emulator_that_is_not_there_or_does_not_run_is_refused() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join(PROGRAM);
        let refused = |file: &Path| Emulator::find(Some(file)).unwrap_err().problem;
        assert_eq!(refused(&file), format!("there is no program {}", file.display()));
        assert_eq!(refused(directory.path()), format!("there is no program {}", directory.path().display()));
        fs::write(&file, "#!/bin/sh\nexit 3\n").unwrap();
        fs::set_permissions(&file, Permissions::from_mode(0o755)).unwrap();
        assert!(refused(&file).ends_with("--version: it ended with exit status: 3"), "{}", refused(&file));
    }
}
