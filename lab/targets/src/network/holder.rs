//! The holder: a process that makes a chain of network namespaces and holds them until it is
//! killed.
//!
//! Each namespace belongs to one of its threads. It prints a line for each, `end FILE ADDRESSES`,
//! then `ready`, or `refused WHY`. Its only needs beside the kernel are `ip`, from iproute2.

#[cfg(target_os = "linux")]
mod chain;

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

/// The first argument that makes a program the holder. The next one is the number of ends.
pub const ARGUMENT: &str = "__hold_namespaces";

/// Printed if the kernel allows us no namespace.
#[cfg(target_os = "linux")]
const NOT_ALLOWED: &str = "this user may not make network namespaces";

/// Printed if `ip` is missing.
#[cfg(target_os = "linux")]
const NO_IP: &str = "there is no program `ip` to set up network namespaces";

/// Printed on a system without network namespaces.
#[cfg(not(target_os = "linux"))]
const NONE_HERE: &str = "this system has no network namespaces";

/// Hint for a refusal.
pub(super) fn hint(problem: &str) -> &'static str {
    #[cfg(target_os = "linux")]
    if problem.starts_with(NO_IP) {
        return "install the package iproute2";
    }
    #[cfg(target_os = "linux")]
    if problem.starts_with(NOT_ALLOWED) {
        return "namespaces need root, or CAP_SYS_ADMIN and CAP_NET_ADMIN; ends on `host` need no rights: they use the loopback device";
    }
    "put all ends on `host`: they use the loopback device"
}

/// A line that the holder prints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Line {
    /// One end, in the order of the chain.
    End { namespace: PathBuf, addresses: String },
    /// All ends exist and can reach each other.
    Ready,
    /// There will be no network; the reason.
    Refused(String),
}

impl Line {
    /// Parses a line; `None` if it is another one.
    pub(super) fn read(line: &str) -> Option<Self> {
        match line.split_once(' ').unwrap_or((line, "")) {
            ("end", rest) => {
                let (namespace, addresses) = rest.split_once(' ')?;
                Some(Line::End { namespace: namespace.into(), addresses: addresses.to_owned() })
            }
            ("ready", "") => Some(Line::Ready),
            ("refused", why) => Some(Line::Refused(why.to_owned())),
            _ => None,
        }
    }

    fn print(&self) {
        match self {
            Line::End { namespace, addresses } => println!("end {} {addresses}", namespace.display()),
            Line::Ready => println!("ready"),
            Line::Refused(why) => println!("refused {}", why.replace('\n', " ")),
        }
    }
}

/// Runs the holder. Returns only if the network cannot be made.
#[cfg(target_os = "linux")]
pub fn run(mut arguments: impl Iterator<Item = OsString>) -> ExitCode {
    let ends = arguments.next().and_then(|word| word.to_str()?.parse().ok()).filter(|ends| (1..=200).contains(ends));
    let Some(ends) = ends else { return ExitCode::from(2) };
    match chain::make(ends) {
        Ok(chain) => {
            chain.lines().iter().for_each(Line::print);
            loop {
                std::thread::park();
            }
        }
        Err(why) => {
            Line::Refused(why).print();
            ExitCode::FAILURE
        }
    }
}

/// Only Linux has network namespaces.
#[cfg(not(target_os = "linux"))]
pub fn run(_: impl Iterator<Item = OsString>) -> ExitCode {
    Line::Refused(NONE_HERE.to_owned()).print();
    ExitCode::FAILURE
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_hint_names_what_helps() {
        let refused = hint(&format!("{NOT_ALLOWED}: EPERM"));
        assert!(refused.contains("`host`") && refused.contains("root"), "{refused}");
        for problem in ["ip link add: no such type", ""] {
            assert!(
                hint(problem).contains("`host`") && !hint(problem).contains("root"),
                "{problem}: {}",
                hint(problem)
            );
        }
        assert!(hint(&format!("{NO_IP}: not found")).contains("iproute2"));
    }

    #[test]
    fn lines_are_read() {
        let end = Line::End { namespace: "/proc/1/task/2/ns/net".into(), addresses: "198.18.0.1".to_owned() };
        assert_eq!(Line::read("end /proc/1/task/2/ns/net 198.18.0.1"), Some(end));
        assert_eq!(Line::read("ready"), Some(Line::Ready));
        assert_eq!(Line::read("refused by the kernel"), Some(Line::Refused("by the kernel".to_owned())));
        for nonsense in ["", "end", "end x", "hello"] {
            assert_eq!(Line::read(nonsense), None, "{nonsense}");
        }
    }
}
