//! Setup of a subject: everything that differs from the unchanged machine.

use crate::machine::Machine;
use crate::role::Role;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// The setup of a subject: everything that differs from the unchanged machine. The default changes
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// Environment variables, set for the workload only.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub environment: BTreeMap<String, String>,
    /// Kernel settings by their dotted names (`vm.overcommit_memory`), set for each execution and
    /// restored after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub sysctl: BTreeMap<String, String>,
    /// Files below `/sys` by their paths, written for each execution and restored after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub sysfs: BTreeMap<String, String>,
    /// Directory of the workloads' programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<String>,
    /// Compiler that builds the workloads' programs; workloads that compile use it too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Directory of the workloads' sources that it builds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// The machine; replaces that of the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<Machine>,
    /// Image of a guest's kernel; replaces the one in `on`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The workload, as `name:variant`; replaces the compared one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Words of a command that is run and timed instead of a workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Words of a command that runs before each execution of `command` and is not measured.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub prepare: Vec<String>,
    /// Words of a command that runs once, before the first execution of each session.
    #[serde(rename = "setup", skip_serializing_if = "Vec::is_empty")]
    pub set_up: Vec<String>,
    /// Number of executions of `command` before the first one that counts, in each session.
    #[serde(skip_serializing_if = "is_zero")]
    pub warmup: u32,
    /// Working directory of the commands; the user's if `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// Machines of the workload's partners. Nothing else of the setup applies to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub partners: BTreeMap<Role, Machine>,
}

impl Setup {
    /// Files of its system settings, with the values to write. A dot in a setting's name separates
    /// like a slash in the path, and vice versa (sysctl(8)).
    pub fn system_files(&self) -> impl Iterator<Item = (String, String)> + '_ {
        let swapped = |c| match c {
            '.' => '/',
            '/' => '.',
            other => other,
        };
        let path = move |name: &String| format!("/proc/sys/{}", name.chars().map(swapped).collect::<String>());
        let sysctl = self.sysctl.iter().map(move |(name, value)| (path(name), value.clone()));
        sysctl.chain(self.sysfs.iter().map(|(path, value)| (path.clone(), value.clone())))
    }

    /// Its settings as texts, one item each: `sysctl vm.overcommit_memory = 1`. Empty if it changes
    /// nothing.
    pub fn words(&self) -> Vec<String> {
        let maps = [("environment", &self.environment), ("sysctl", &self.sysctl), ("sysfs", &self.sysfs)];
        let mut words: Vec<String> = maps
            .into_iter()
            .flat_map(|(what, map)| map.iter().map(move |(key, value)| format!("{what} {key} = {value}")))
            .collect();
        let on = self.on.as_ref().map(Machine::to_string);
        let single = [
            ("programs", &self.programs),
            ("compiler", &self.compiler),
            ("machine", &on),
            ("kernel", &self.kernel),
            ("workload", &self.workload),
            ("directory", &self.directory),
        ];
        words.extend(single.into_iter().filter_map(|(what, value)| Some(format!("{what} {}", value.as_ref()?))));
        if !self.command.is_empty() {
            words.push(format!("command {}", self.command.join(" ")));
        }
        for (what, command) in [("prepare", &self.prepare), ("setup", &self.set_up)] {
            words.extend((!command.is_empty()).then(|| format!("{what} {}", command.join(" "))));
        }
        words.extend((self.warmup > 0).then(|| format!("warmup {}", self.warmup)));
        words.extend(self.partners.iter().map(|(role, machine)| format!("{role} on {machine}")));
        words
    }
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// Reads numbers and texts as texts: `64` needs no quotes in a user's file.
fn plain_values<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged, expecting = "a text or a whole number")]
    enum Plain {
        Number(i64),
        Text(String),
    }
    let plain = |value| match value {
        Plain::Number(number) => number.to_string(),
        Plain::Text(text) => text,
    };
    let values = BTreeMap::<String, Plain>::deserialize(deserializer)?;
    Ok(values.into_iter().map(|(key, value)| (key, plain(value))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setup_says_what_it_sets_and_nothing_else() {
        assert_eq!(Setup::default().words(), Vec::<String>::new());
        let setup = Setup {
            sysctl: [("vm.overcommit_memory".to_owned(), "1".to_owned())].into(),
            on: Some("qemu:cpus=2".parse().unwrap()),
            command: vec!["./x".to_owned(), "1".to_owned()],
            set_up: vec!["make".to_owned()],
            warmup: 3,
            partners: [("receiver".parse().unwrap(), Machine::Host)].into(),
            ..Setup::default()
        };
        let words = [
            "sysctl vm.overcommit_memory = 1",
            "machine qemu:cpus=2,sockets=1,memory=1024M,boot_limit=42s,accel=tcg",
            "command ./x 1",
            "setup make",
            "warmup 3",
            "receiver on host",
        ];
        assert_eq!(setup.words(), words);
    }

    #[test]
    fn partners_are_stored_as_data_and_read_as_text_too() {
        let text = r#"{"partners":{"receiver":{"kind":"host"}}}"#;
        for text in [text, r#"{"partners":{"receiver":"host"}}"#] {
            let setup: Setup = serde_json::from_str(text).unwrap();
            assert_eq!(setup.partners, [("receiver".parse().unwrap(), Machine::Host)].into());
        }
        let setup: Setup = serde_json::from_str(text).unwrap();
        assert_eq!(serde_json::to_string(&setup).unwrap(), text);
        assert_eq!(serde_json::to_string(&Setup::default()).unwrap(), "{}");
        assert_eq!(serde_json::from_str::<Setup>("{}").unwrap(), Setup::default());
        for wrong in [r#"{"partners":{"the receiver":"host"}}"#, r#"{"partners":{"receiver":"vax"}}"#] {
            assert!(serde_json::from_str::<Setup>(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn numbers_need_no_quotes() {
        let setup: Setup = serde_json::from_str(r#"{"sysctl": {"vm.nr_hugepages": 64, "a.b": "x"}}"#).unwrap();
        assert_eq!(setup.words(), ["sysctl a.b = x", "sysctl vm.nr_hugepages = 64"]);
        assert!(serde_json::from_str::<Setup>(r#"{"sysctl": {"a": [1]}}"#).is_err());
        assert!(serde_json::from_str::<Setup>(r#"{"sysclt": {}}"#).is_err());
    }

    #[test]
    fn settings_lead_to_their_files() {
        let pair = |key: &str| (key.to_owned(), "1".to_owned());
        let setup = Setup {
            sysctl: [pair("net.ipv4.conf.eth0/1.forwarding"), pair("vm.swappiness")].into(),
            sysfs: [pair("/sys/kernel/mm/x")].into(),
            ..Setup::default()
        };
        let paths: Vec<String> = setup.system_files().map(|(path, _)| path).collect();
        assert_eq!(paths, ["/proc/sys/net/ipv4/conf/eth0.1/forwarding", "/proc/sys/vm/swappiness", "/sys/kernel/mm/x"]);
    }
}
