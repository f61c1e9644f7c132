//! The command line of gVisor's `runsc`, which starts gVisor's kernel as a process of this host, with a shell in it.

use crate::TargetError;
use crate::program_output;
use crate::search_path;
use faultline_model::machine::Gvisor;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Its program.
const PROGRAM: &str = "runsc";

/// Found, and asked which version it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Runsc {
    program: PathBuf,
    platform: Option<String>,
    /// As it prints it.
    version: String,
}

impl Runsc {
    /// The named program, otherwise the one in `PATH`. Fails if there is none, or if it does not run.
    pub(crate) fn find(asked: &Gvisor) -> Result<Self, TargetError> {
        let program = asked.runsc.clone().or_else(|| search_path::find(PROGRAM)).ok_or_else(|| TargetError {
            problem: format!("there is no {PROGRAM} here, the program of gVisor"),
            hint: format!("on Debian: apt install {PROGRAM}; `gvisor:runsc=FILE` names it"),
        })?;
        let said = program_output::read(program.as_os_str(), &["--version"], program_output::USUAL_LIMIT).map_err(
            |problem| TargetError {
                problem: format!("{} --version: {problem}", program.display()),
                hint: format!("`gvisor:runsc=FILE` names another {PROGRAM}"),
            },
        )?;
        let version = said.lines().next().unwrap_or_default().trim().to_owned();
        Ok(Runsc { program, platform: asked.platform.clone(), version })
    }

    /// Its version, as it prints it.
    pub(crate) fn version(&self) -> &str {
        &self.version
    }

    /// The way in which it gets system calls, if it was named.
    pub(crate) fn platform(&self) -> Option<&str> {
        self.platform.as_deref()
    }

    /// The command that runs further words in a gVisor of its own: this host's files are there to be read, and what is written stays in its memory.
    /// `root`: an empty directory for its own files.
    pub(super) fn argv(&self, root: &Path) -> Vec<OsString> {
        let mut root_option = OsString::from("--root=");
        root_option.push(root);
        let mut argv = vec![self.program.as_os_str().to_owned(), root_option];
        argv.extend(self.options().into_iter().map(OsString::from));
        argv.extend(["do", "-quiet"].map(OsString::from));
        argv
    }

    /// Only the loopback device, so that nothing is set up on this host; and no control groups, which a container may not make.
    fn options(&self) -> Vec<String> {
        let mut options = ["--network=none", "--ignore-cgroups"].map(str::to_owned).to_vec();
        options.extend(self.platform.iter().map(|name| format!("--platform={name}")));
        if !rustix::process::geteuid().is_root() {
            options.push("--rootless".to_owned());
        }
        options
    }

    /// What a person types to try the same.
    pub(super) fn trial(&self) -> String {
        format!("{} {} do true", self.program.display(), self.options().join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn its_own_files_and_its_platform_are_named() {
        let runsc = Runsc { program: "/r".into(), platform: Some("kvm".to_owned()), version: String::new() };
        let words: Vec<String> =
            runsc.argv(Path::new("/d")).iter().map(|word| word.to_string_lossy().into_owned()).collect();
        assert_eq!(words[..5], ["/r", "--root=/d", "--network=none", "--ignore-cgroups", "--platform=kvm"]);
        assert_eq!(words[words.len() - 2..], ["do", "-quiet"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let asked = Gvisor { runsc: Some("/nowhere/runsc".into()), platform: None };
        assert!(Runsc::find(&asked).unwrap_err().problem.starts_with("/nowhere/runsc --version: "));
    }
}
