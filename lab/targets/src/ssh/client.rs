//! The command line of OpenSSH's client. Each word is an argument of its own, and the remote shell
//! gets a constant: all else goes over standard input.

use crate::{TargetError, search_path};
use faultline_record::machine::SshHost;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The client's program.
const PROGRAM: &str = "ssh";

/// Options of every connection, whatever the user's configuration says: no questions, known host
/// keys only, nothing forwarded, an end if the host is silent, and no connection shared with
/// others.
const OPTIONS: [&str; 16] = [
    "BatchMode=yes",
    "StrictHostKeyChecking=yes",
    "UpdateHostKeys=no",
    "NoHostAuthenticationForLocalhost=no",
    "PasswordAuthentication=no",
    "KbdInteractiveAuthentication=no",
    "ConnectTimeout=15",
    "ServerAliveInterval=5",
    "ServerAliveCountMax=4",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlMaster=no",
    "ControlPath=none",
    "EscapeChar=none",
    "RemoteCommand=none",
    "LogLevel=INFO",
];

/// Beginning of the line with the host's identity: its system and its architecture follow, and the
/// ends of the connection if the server reports them.
pub(super) const SYSTEM: &str = "faultline-host ";

/// The remote command. Standard input: a line with the directory for scratch files, which may be
/// empty; a line with the agent's size in bytes; the agent; then the agent's requests. Where `head`
/// cannot count bytes (OpenBSD), `dd` reads them one by one. The inner command has no quote,
/// backslash, line end or exclamation mark, so every login shell interprets it in the same way.
pub(super) const REMOTE_COMMAND: &str = "exec /bin/sh -c 'umask 077; echo faultline-host \"$(uname -sm)\" $SSH_CONNECTION; \
    IFS= read -r base && IFS= read -r bytes || exit 70; \
    dir=$(mktemp -d \"${base:-${TMPDIR:-/tmp}}/faultline.XXXXXX\") || exit 71; \
    if head -c 1 </dev/null >/dev/null 2>&1; then head -c \"$bytes\" >\"$dir/agent\"; else dd bs=1 count=\"$bytes\" of=\"$dir/agent\" 2>/dev/null; fi; \
    status=72; \
    if [ $(wc -c <\"$dir/agent\") -eq \"$bytes\" ]; then chmod 700 \"$dir/agent\"; \"$dir/agent\" serve \"$dir\"; status=$?; fi; \
    rm -rf \"$dir\"; exit $status'";

/// A system in an emulator on this host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Emulated {
    /// Name of its key among known hosts.
    pub(crate) known_as: String,
    /// Time limit for its server's answer, in seconds.
    pub(crate) connect_limit_s: u64,
}

/// The client's program. Fails if `PATH` has none.
pub(super) fn find() -> Result<PathBuf, TargetError> {
    search_path::find(PROGRAM).ok_or_else(|| TargetError {
        problem: format!("there is no program '{PROGRAM}' in PATH"),
        hint: "install OpenSSH's client; on Debian: apt install openssh-client".to_owned(),
    })
}

/// The client's arguments before the remote command. Fails if a file of the user is missing, or
/// cannot be named to the client.
pub(super) fn arguments(host: &SshHost, emulated: Option<&Emulated>) -> Result<Vec<OsString>, TargetError> {
    let mut arguments: Vec<OsString> = ["-T", "-x", "-a"].map(OsString::from).into();
    let mut option = |name: &str, value: OsString| arguments.extend([OsString::from(name), value]);
    // The client uses the first value of each option.
    for setting in emulated.iter().flat_map(|system| of_emulated(system)) {
        option("-o", setting.into());
    }
    for setting in OPTIONS {
        option("-o", setting.into());
    }
    if let Some(config) = &host.config {
        option("-F", existing(config, "configuration for ssh")?);
    }
    if let Some(identity) = &host.identity {
        option("-i", without_tokens(existing(identity, "key file")?)?);
        option("-o", "IdentitiesOnly=yes".into());
    }
    if let Some(user) = host.user() {
        option("-l", user.into());
    }
    if let Some(port) = host.port() {
        option("-p", port.to_string().into());
    }
    arguments.extend([OsString::from("--"), host.host().into()]);
    Ok(arguments)
}

/// Options before the usual ones. An emulator on a busy host gets little time, and its address on
/// this host is shared by many systems.
fn of_emulated(system: &Emulated) -> [String; 4] {
    [
        format!("HostKeyAlias={}", system.known_as),
        "CheckHostIP=no".to_owned(),
        format!("ConnectTimeout={}", system.connect_limit_s),
        "ServerAliveInterval=15".to_owned(),
    ]
}

fn existing(path: &Path, what: &str) -> Result<OsString, TargetError> {
    let refused = |reason: String| TargetError {
        problem: format!("cannot use {} as the {what}: {reason}", path.display()),
        hint: "name an existing file".to_owned(),
    };
    // The client resolves a relative path in a directory of its own.
    let path = std::path::absolute(path).map_err(|error| refused(error.to_string()))?;
    std::fs::File::open(&path).map_err(|error| refused(error.to_string()))?;
    Ok(path.into_os_string())
}

/// The client expands percent and dollar signs in the path of a key.
fn without_tokens(path: OsString) -> Result<OsString, TargetError> {
    if path.to_string_lossy().contains(['%', '$']) {
        return Err(TargetError {
            problem: format!("ssh cannot use a key file whose path has a percent or dollar sign: {}", path.display()),
            hint: "name it by another path".to_owned(),
        });
    }
    Ok(path)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::process::{Command, Stdio};

    #[test]
    fn names_are_words_of_their_own_behind_what_ends_the_options() {
        let own = std::env::current_exe().unwrap();
        let mut host = SshHost::at("me@[::1]:2222").unwrap();
        host.identity = Some(own.clone());
        let emulated = Emulated { known_as: "disk.img".to_owned(), connect_limit_s: 40 };
        let arguments = arguments(&host, Some(&emulated)).unwrap();
        let words: Vec<_> = arguments.iter().map(|word| word.to_str().unwrap()).collect();
        assert_eq!(words[words.len() - 2..], ["--", "::1"]);
        for pair in [
            ["-l", "me"],
            ["-p", "2222"],
            ["-i", own.to_str().unwrap()],
            ["-o", "StrictHostKeyChecking=yes"],
            ["-o", "HostKeyAlias=disk.img"],
        ] {
            assert!(words.windows(2).any(|two| two == pair), "{pair:?} in {words:?}");
        }
    }

    #[test]
    fn a_key_file_that_is_missing_or_has_tokens_in_its_name_is_refused() {
        let mut host = SshHost::at("lab").unwrap();
        host.identity = Some("/nowhere/key".into());
        assert!(arguments(&host, None).unwrap_err().problem.contains("cannot use /nowhere/key as the key file"));
        let directory = tempfile::tempdir().unwrap();
        let named = directory.path().join("key%h");
        std::fs::write(&named, "").unwrap();
        host.identity = Some(named);
        assert!(arguments(&host, None).unwrap_err().problem.contains("percent or dollar"));
    }

    /// Output of the remote command for a directory, and its exit status, with this input, in each
    /// shell of this machine.
    fn run_remotely(input: &[u8], scratch: &Path, path: &str) -> Vec<(i32, Vec<String>)> {
        use std::io::Write;
        let shells = ["sh", "bash", "dash", "zsh", "ksh", "fish", "tcsh"];
        let mut ends = Vec::new();
        for shell in shells.into_iter().filter(|shell| search_path::find(shell).is_some()) {
            let mut child = Command::new(search_path::find(shell).unwrap())
                .args(["-c", REMOTE_COMMAND])
                .env("TMPDIR", scratch)
                .env("PATH", path)
                .stdin(Stdio::piped())
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            // Fails if the command does not read all of it.
            let _ = child.stdin.take().unwrap().write_all(input);
            let status = child.wait().unwrap().code().unwrap();
            let left = std::fs::read_dir(scratch).unwrap();
            ends.push((status, left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()));
        }
        assert!(!ends.is_empty());
        ends
    }

    fn usual_path() -> String {
        std::env::var("PATH").unwrap()
    }

    #[test]
    fn the_remote_command_starts_the_agent_and_leaves_nothing() {
        let scratch = tempfile::tempdir().unwrap();
        let agent = "#!/bin/sh\n[ \"$1\" = serve ] && [ -d \"$2\" ] && read -r word && [ \"$word\" = next ] && exit 5\nexit 6\n";
        let inputs = [
            (format!("\n{}\n{agent}next\n", agent.len()), 5),
            (format!("{}\n{}\n{agent}next\n", scratch.path().display(), agent.len()), 5),
            // Input that ends within the agent, and before it.
            (format!("\n{}\n#!/bin/sh\n", agent.len()), 72),
            ("\n".to_owned(), 70),
            (format!("{}/$(touch x) 'none\"\n1\nx", scratch.path().display()), 71),
        ];
        for (input, status) in inputs {
            for (ended, left) in run_remotely(input.as_bytes(), scratch.path(), &usual_path()) {
                assert_eq!((ended, left), (status, Vec::new()), "{input:?}");
            }
        }
    }

    #[test]
    fn a_head_that_counts_no_bytes_is_done_without() {
        let (scratch, programs) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let head = programs.path().join("head");
        std::fs::write(&head, "#!/bin/sh\necho 'usage: head [-n count]' >&2\nexit 1\n").unwrap();
        std::fs::set_permissions(&head, std::fs::Permissions::from_mode(0o755)).unwrap();
        let path = format!("{}:{}", programs.path().display(), usual_path());
        let agent = "#!/bin/sh\nread -r word && [ \"$word\" = next ] && exit 5\nexit 6\n";
        let input = format!("\n{}\n{agent}next\n", agent.len());
        for ended in run_remotely(input.as_bytes(), scratch.path(), &path) {
            assert_eq!(ended, (5, Vec::new()));
        }
    }
}
