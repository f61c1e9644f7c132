//! A plugin for the emulator, and its options.

use crate::keep::Grace;
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

/// How long an emulator may take to end after it was asked to, because its plugin has to write its counts. A machine of 32 CPUs with
/// millions of transfers took 11 s on two busy CPUs.
const GRACE: Duration = Duration::from_secs(10);
const GRACE_PER_CPU: Duration = Duration::from_secs(1);

/// The grace period of an emulator with a plugin, for a machine with that many CPUs.
pub(crate) fn grace(cpus: u32) -> Grace {
    Grace { at_limit: GRACE + GRACE_PER_CPU * cpus, on_stop: GRACE }
}

/// A plugin for QEMU.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plugin {
    /// Its shared library.
    pub file: PathBuf,
    /// Its options: keys and values.
    pub values: Vec<(String, String)>,
    /// Directory for its output that is removed if we are killed. If `None`, the caller removes it.
    pub directory: Option<PathBuf>,
}

impl Plugin {
    /// The option's value in QEMU's syntax: parts separated by commas, commas within a part doubled.
    pub(crate) fn option(&self) -> OsString {
        let mut option = OsString::from("file=");
        option.push(doubled(self.file.as_os_str()));
        for (key, value) in &self.values {
            option.push(format!(",{key}={}", value.replace(',', ",,")));
        }
        option
    }
}

fn doubled(path: &std::ffi::OsStr) -> OsString {
    use std::os::unix::ffi::{OsStrExt, OsStringExt};
    let bytes = path.as_bytes().iter().flat_map(|&byte| if byte == b',' { vec![byte; 2] } else { vec![byte] });
    OsString::from_vec(bytes.collect())
}

/// Whether an emulator's help mentions plugins. An emulator that was built without them does not.
pub(crate) fn are_known_to(help: &str) -> bool {
    help.lines().any(|line| line.trim_start().starts_with("-plugin"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_are_doubled() {
        let values = vec![("output".to_owned(), "a,b.json".to_owned()), ("cpus".to_owned(), "8".to_owned())];
        let plugin = Plugin { file: PathBuf::from("/lib/lens,1.so"), values, directory: None };
        assert_eq!(plugin.option(), "file=/lib/lens,,1.so,output=a,,b.json,cpus=8");
    }

    #[test]
    fn help_says_whether_there_are_plugins() {
        assert!(are_known_to("-strace ...\n-plugin           QEMU_PLUGIN        [file=]<file>"));
        assert!(!are_known_to("-strace\n-d plugin enable logging of plugin\n"));
    }
}
