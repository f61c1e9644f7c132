//! The effects of a `faultline.toml`: keys that make something run, log in somewhere, write system
//! settings, or send results away. A user sees them before trusting the file.

use crate::error::Error;
use crate::settings_file::refused;
use std::path::Path;
use toml::{Table, Value};

/// A key with an effect.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeclaredEffect {
    /// The whole key, such as `subject.app.build`.
    pub key: String,
    /// The value in one line, as JSON.
    pub value: String,
    /// The effect; empty for an unknown key.
    pub effect: &'static str,
}

/// Tables whose entries have names, as in `[subject.NAME]`.
const NAMED: [&str; 3] = ["host", "subject", "variant"];

/// Keys without effect, by table: choices, numbers, limits. All other keys are shown, also those
/// that readers of the file refuse.
const HARMLESS: [(&str, &[&str]); 3] = [
    ("host", &["back_limit"]),
    ("notify", &["limit"]),
    (
        "subject",
        &[
            "accel",
            "branch",
            "build_limit",
            "clean",
            "commit_layouts",
            "commits",
            "keep",
            "kernel_too",
            "layout_order",
            "layout_spacing",
            "layouts",
            "limit",
            "measure",
            "mode",
            "ops",
            "pick",
            "pin",
            "release_file",
            "repeats",
            "seed",
            "seeds",
            "since",
            "tags",
            "tasks",
            "walk",
            "whole",
            "workloads",
        ],
    ),
];

/// Effects by table and key.
const EFFECTS: [(&str, &str, &str); 34] = [
    ("host", "config", "OpenSSH configuration; its ProxyCommand and Match exec run on this machine"),
    ("host", "identity", "private key of the login"),
    ("host", "install", "runs on the host, which reboots then"),
    ("host", "port", "port of the login"),
    ("host", "power_cycle", "runs on this machine"),
    ("host", "reboot", "runs on the host"),
    ("host", "scratch", "directory on the host, for programs that run there"),
    ("host", "ssh", "login; programs run there"),
    ("notify", "command", "runs on this machine, with confirmed changes as input"),
    ("notify", "webhook", "gets confirmed changes"),
    ("subject", "build", "builds each commit, on this machine"),
    ("subject", "command", "program that is executed and measured"),
    ("subject", "environment", "variables of the build and its tools"),
    ("subject", "image", "kernel that boots"),
    ("subject", "kernel", "kernel of the guests"),
    ("subject", "network", "lets builds use the network"),
    ("subject", "on", "host that executes the builds"),
    ("subject", "release", "releases that are built or booted"),
    ("subject", "repository", "repository whose commits are built"),
    ("subject", "sandbox", "with false, builds and programs run outside of the sandbox"),
    ("subject", "vmlinux", "the same kernel as ELF"),
    ("subject", "work", "directory for checkouts and builds, which are replaced"),
    ("variant", "command", "program that is executed and measured"),
    ("variant", "compiler", "compiles the workloads"),
    ("variant", "directory", "working directory of the command"),
    ("variant", "environment", "variables of what is measured"),
    ("variant", "kernel", "kernel that boots"),
    ("variant", "on", "machine that executes"),
    ("variant", "partners", "machines of partners"),
    ("variant", "programs", "directory of programs that are executed"),
    ("variant", "sources", "sources that are built and executed"),
    ("variant", "sysctl", "system settings that are written"),
    ("variant", "sysfs", "system settings that are written"),
    ("variant", "workload", "workload instead of the chosen one"),
];

/// The effects that a file's text declares, by table, name and key. Fails with the line if it is no
/// TOML.
pub fn declared_effects(text: &str, file: &Path) -> Result<Vec<DeclaredEffect>, Error> {
    let tables: Table = toml::from_str(text).map_err(|error| {
        let problem = error.message().lines().next().unwrap_or_default();
        refused(text, file, error.span().unwrap_or_default(), problem, "a file that cannot be read cannot be trusted")
    })?;
    let mut found = Vec::new();
    for (table, value) in tables.iter().filter(|(table, _)| *table != "quirk") {
        match value {
            Value::Table(entries) if NAMED.contains(&table.as_str()) => {
                for (name, entry) in entries {
                    add(&mut found, table, &format!("{}.{}", word(table), word(name)), entry);
                }
            }
            _ => add(&mut found, table, &word(table), value),
        }
    }
    Ok(found)
}

/// Adds the keys of one table, or a value that is none. `above`: the key of the table.
fn add(found: &mut Vec<DeclaredEffect>, table: &str, above: &str, value: &Value) {
    let Value::Table(keys) = value else {
        return found.push(DeclaredEffect { key: above.to_owned(), value: json(value), effect: "" });
    };
    let harmless = HARMLESS.iter().find(|(of, _)| *of == table).map_or(&[][..], |(_, keys)| keys);
    for (key, value) in keys.iter().filter(|(key, _)| !harmless.contains(&key.as_str())) {
        let effect =
            EFFECTS.iter().find(|(of, name, _)| (*of, *name) == (table, key)).map_or("", |(_, _, effect)| effect);
        let value = match (table, key.as_str(), value) {
            ("notify", "webhook", Value::String(address)) => json(&Value::String(without_path(address))),
            _ => json(value),
        };
        found.push(DeclaredEffect { key: format!("{above}.{}", word(key)), value, effect });
    }
}

/// A part of a key, in quotes unless it is a bare word.
fn word(key: &str) -> String {
    let is_bare = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte));
    if is_bare { key.to_owned() } else { json(&Value::String(key.to_owned())) }
}

fn json(value: &Value) -> String {
    // A value of TOML has text keys and finite depth, so it can be written.
    serde_json::to_string(value).unwrap_or_default()
}

/// The address of a web hook without user and path, which may be secret.
fn without_path(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://") else { return address.to_owned() };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let host = rest[..end].rsplit_once('@').map_or(&rest[..end], |(_, host)| host);
    format!("{scheme}://{host}{}", if end < rest.len() { "/…" } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> Vec<String> {
        let all = declared_effects(text, Path::new("f.toml")).unwrap();
        all.iter().map(|one| format!("{} = {} # {}", one.key, one.value, one.effect)).collect()
    }

    #[test]
    fn everything_that_runs_is_shown_and_what_only_chooses_is_not() {
        let text = "[subject.app]\nbuild = ['sh', '-c', \"a\\nb\"]\nbranch = 'main'\nrepeats = 7\n\
            environment = { CC = './cc' }\n[subject.app.'x y']\nz = 1\n[host.lab]\nconfig = 'ssh_config'\nback_limit = '5m'\n\
            [notify]\nwebhook = 'https://me:pass@example.org/secret?token'\nlimit = '3s'\n\
            [[quirk]]\nwhat = 'x'\n[variant.v.sysctl]\n'vm.x' = 1\n[other]\nkey = 'x'\n";
        assert_eq!(
            shown(text),
            [
                "host.lab.config = \"ssh_config\" # OpenSSH configuration; its ProxyCommand and Match exec run on this machine",
                "notify.webhook = \"https://example.org/…\" # gets confirmed changes",
                "other.key = \"x\" # ",
                "subject.app.build = [\"sh\",\"-c\",\"a\\nb\"] # builds each commit, on this machine",
                "subject.app.environment = {\"CC\":\"./cc\"} # variables of the build and its tools",
                "subject.app.\"x y\" = {\"z\":1} # ",
                "variant.v.sysctl = {\"vm.x\":1} # system settings that are written",
            ]
        );
        assert_eq!(shown("subject = 3\n"), ["subject = 3 # "]);
        let wrong = declared_effects("[a]\nb\n", Path::new("f.toml")).unwrap_err();
        assert!(wrong.problem.starts_with("f.toml:2: "), "{wrong}");
    }

    #[test]
    fn the_address_of_a_web_hook_keeps_its_host_only() {
        for (address, expected) in [
            ("http://a.example:80", "http://a.example:80"),
            ("https://u:p@a.example?t=1", "https://a.example/…"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(without_path(address), expected);
        }
    }
}
