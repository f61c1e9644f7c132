//! Reason for a failed connection: the output of OpenSSH's client, as a problem and a hint.

use crate::TargetError;
use faultline_record::machine::SshHost;

/// Exit status of the client's own errors; any other is that of the remote command.
const CLIENT_FAILED: i32 = 255;

/// Ending of a connection that never served.
pub(super) struct Failed<'a> {
    /// The client's status; `None` if it was killed.
    pub(super) status: Option<i32>,
    /// End of standard error.
    pub(super) stderr: &'a str,
    /// The host's system and architecture, if it reported them.
    pub(super) system: Option<&'a str>,
}

/// Reason for a failed connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotConnected {
    /// The problem and the hint.
    pub(super) error: TargetError,
    /// Consequence for another trial.
    pub(super) why: Why,
}

/// Consequence of a failed connection for another trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Why {
    /// No answer: a booting system may answer later.
    Silent,
    /// The system's host key is unknown, or it is another system than requested. Waiting or a power
    /// cycle does not help.
    Stranger,
    /// Final: waiting does not help.
    Refused,
}

impl From<TargetError> for NotConnected {
    fn from(error: TargetError) -> Self {
        NotConnected { error, why: Why::Refused }
    }
}

impl From<NotConnected> for TargetError {
    fn from(not: NotConnected) -> Self {
        not.error
    }
}

/// The problem and the hint. `known_as`: the name of the host's key, if it is not the host's own.
pub(super) fn explain(failed: &Failed<'_>, host: &SshHost, known_as: Option<&str>) -> NotConnected {
    let (destination, stderr) = (known_as.map_or_else(|| host.destination(), str::to_owned), failed.stderr);
    let has = |text: &str| stderr.contains(text);
    let error = |problem: String, hint: String| TargetError { problem, hint };
    let stranger =
        |problem: String, hint: String| NotConnected { error: TargetError { problem, hint }, why: Why::Stranger };
    if has("REMOTE HOST IDENTIFICATION HAS CHANGED") || has("Host key for ") && has(" has changed") {
        return stranger(
            format!("the host key of {destination} has changed"),
            format!(
                "another host may answer in its place; if its key was changed, remove the old one: ssh-keygen -R {}",
                known_as.map_or_else(|| known_name(host), str::to_owned)
            ),
        );
    }
    if has("host key is known for") || has("Host key verification failed") {
        return stranger(
            format!("the host key of {destination} is not known"),
            match known_as {
                Some(name) => format!(
                    "a line of ~/.ssh/known_hosts makes it known: '{name}', a blank, and what is in /etc/ssh/ssh_host_ed25519_key.pub there"
                ),
                None => format!(
                    "`ssh-keyscan{} {} >> ~/.ssh/known_hosts` adds it; compare it first with what `ssh-keygen -lf` prints on the host",
                    host.port().map_or_else(String::new, |port| format!(" -p {port}")),
                    host.host()
                ),
            },
        );
    }
    if let Some(methods) = stderr.lines().find_map(|line| line.split_once("Permission denied (")).map(|(_, rest)| rest)
    {
        return denied(methods, &destination).into();
    }
    match failed.status {
        None | Some(CLIENT_FAILED) => {
            let said = last_line(stderr).unwrap_or_else(|| "ssh said nothing".to_owned());
            let hint =
                "`ssh -v` with the same name shows details; the name, the port or OpenSSH's configuration may be wrong";
            NotConnected {
                error: error(format!("cannot connect to {destination}: {said}"), hint.to_owned()),
                why: Why::Silent,
            }
        }
        Some(status) => not_started(status, failed, &destination).into(),
    }
}

/// No key was accepted. `methods`: the host's authentication methods.
fn denied(methods: &str, destination: &str) -> TargetError {
    let asks = ["password", "keyboard-interactive"].iter().any(|method| methods.contains(method));
    let problem = match asks {
        true => format!("{destination} asks for a password: it accepts none of your keys"),
        false => format!("{destination} accepts none of your keys"),
    };
    let hint = "keys and agents are used, passwords never: `ssh-copy-id` gives the host your key, `identity=FILE` names another";
    TargetError { problem, hint: hint.to_owned() }
}

/// The connection was made, but the agent could not be started.
fn not_started(status: i32, failed: &Failed<'_>, destination: &str) -> TargetError {
    let said = last_line(failed.stderr).unwrap_or_else(|| format!("exit status {status}"));
    let hint = match failed.system {
        Some(system) if !system.starts_with("Linux ") => {
            "`scratch=DIR` names a directory of the host where you may start programs; docs/HOSTS.md says for which releases they are"
        }
        Some(_) => "`scratch=DIR` names a directory of the host where you may write files and start programs",
        None => "it needs a shell (/bin/sh) that runs commands; `ssh` with a command tries it",
    };
    TargetError { problem: format!("cannot run programs on {destination}: {said}"), hint: hint.to_owned() }
}

/// The name of the host in the file of known keys.
fn known_name(host: &SshHost) -> String {
    match host.port() {
        None | Some(22) => host.host().to_owned(),
        Some(port) => format!("'[{}]:{port}'", host.host()),
    }
}

/// The last line with text, without control characters, since the line may come from any host.
pub(super) fn last_line(stderr: &str) -> Option<String> {
    let readable = |line: &str| line.trim().chars().filter(|c| !c.is_control()).collect::<String>();
    stderr.lines().map(readable).rfind(|line| !line.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(status: i32, stderr: &str, system: Option<&str>) -> (String, String) {
        let failed = Failed { status: Some(status), stderr, system };
        let NotConnected { error, why } = explain(&failed, &SshHost::at("me@lab:2222").unwrap(), None);
        assert_eq!(why == Why::Stranger, error.problem.starts_with("the host key"));
        assert_eq!(why == Why::Silent, error.problem.starts_with("cannot connect"));
        (error.problem, error.hint)
    }

    #[test]
    fn each_reason_has_its_hint() {
        let unknown = "No ED25519 host key is known for [lab]:2222 and you have requested strict checking.\r\nHost key verification failed.\r\n";
        let changed =
            "@@@@\n@    WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED!     @\n@@@@\nHost key verification failed.\n";
        for (status, stderr, system, problem, hint) in [
            (255, unknown, None, "the host key of me@lab:2222 is not known", "ssh-keyscan -p 2222 lab >>"),
            (255, changed, None, "has changed", "ssh-keygen -R '[lab]:2222'"),
            (255, "me@lab: Permission denied (publickey,password).\n", None, "asks for a password", "ssh-copy-id"),
            (
                255,
                "me@lab: Permission denied (publickey).\n",
                None,
                "me@lab:2222 accepts none of your keys",
                "identity=",
            ),
            (
                255,
                "ssh: connect to host lab port 2222: Connection refused\r\n",
                None,
                "cannot connect to me@lab:2222: ssh: connect to host lab port 2222: Connection refused",
                "-v",
            ),
            (255, "", None, "ssh said nothing", "-v"),
            (
                126,
                "sh: 1: /x/agent: Exec format error\n",
                Some("Linux aarch64"),
                "cannot run programs on me@lab:2222: sh: 1: /x/agent",
                "scratch=",
            ),
            (
                72,
                "ld.so: agent: can't load library 'libc.so'\n",
                Some("OpenBSD amd64"),
                "ld.so: agent: can't load library",
                "for which releases",
            ),
            (
                1,
                "This account is not available.\u{1b}[2J\n",
                None,
                "This account is not available.[2J",
                "needs a shell",
            ),
        ] {
            let said = explained(status, stderr, system);
            assert!(said.0.contains(problem) && said.1.contains(hint), "{said:?}");
        }
    }
}
