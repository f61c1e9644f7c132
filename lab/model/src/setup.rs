//! What a subject is measured with, where that differs from how the machine is.

use crate::machine::Machine;
use crate::role::Role;
use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// What a subject is measured with, where that differs from how the machine is. The default differs in nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Setup {
    /// Variables of the environment, set for the workload alone.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub environment: BTreeMap<String, String>,
    /// The kernel's settings by their dotted names (`vm.overcommit_memory`), set for each execution and put back after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub sysctl: BTreeMap<String, String>,
    /// Files below `/sys` by their paths, written for each execution and put back after it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "plain_values")]
    pub sysfs: BTreeMap<String, String>,
    /// Directory of the workloads' programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub programs: Option<String>,
    /// Compiler with which the workloads' programs are built, and which those that compile use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compiler: Option<String>,
    /// Directory of the workloads' sources that are built with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sources: Option<String>,
    /// The machine, as `--on` names it; in place of the run's.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub on: Option<String>,
    /// Image of the kernel of a guest; in place of the one that `on` names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<String>,
    /// The workload, as `name:variant`; in place of the one that is compared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload: Option<String>,
    /// Words of a command that is run and timed, in place of a workload.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub command: Vec<String>,
    /// Where the workload's partners run. Nothing else of the setup applies to them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub partners: BTreeMap<Role, Machine>,
}

impl Setup {
    /// The files behind its settings of the system, with what is written to them. In a setting's name a dot parts where a slash parts the path, and the
    /// other way round (sysctl(8)).
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

    /// What it sets, one item each, for people: `sysctl vm.overcommit_memory = 1`. Empty when it differs in nothing.
    pub fn words(&self) -> Vec<String> {
        let maps = [("environment", &self.environment), ("sysctl", &self.sysctl), ("sysfs", &self.sysfs)];
        let mut words: Vec<String> = maps
            .into_iter()
            .flat_map(|(what, map)| map.iter().map(move |(key, value)| format!("{what} {key} = {value}")))
            .collect();
        let single = [
            ("programs", &self.programs),
            ("compiler", &self.compiler),
            ("machine", &self.on),
            ("kernel", &self.kernel),
            ("workload", &self.workload),
        ];
        words.extend(single.into_iter().filter_map(|(what, value)| Some(format!("{what} {}", value.as_ref()?))));
        if !self.command.is_empty() {
            words.push(format!("command {}", self.command.join(" ")));
        }
        words.extend(self.partners.iter().map(|(role, machine)| format!("{role} on {machine}")));
        words
    }
}

/// Numbers and texts alike as texts: in a file that people write, `64` needs no quotes.
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
            on: Some("qemu:cpus=2".to_owned()),
            command: vec!["./x".to_owned(), "1".to_owned()],
            partners: [("receiver".parse().unwrap(), Machine::Host)].into(),
            ..Setup::default()
        };
        let words = ["sysctl vm.overcommit_memory = 1", "machine qemu:cpus=2", "command ./x 1", "receiver on host"];
        assert_eq!(setup.words(), words);
    }

    #[test]
    fn partners_are_stored_and_a_setup_of_an_older_version_is_read() {
        let text = r#"{"partners":{"receiver":"host"}}"#;
        let setup: Setup = serde_json::from_str(text).unwrap();
        assert_eq!(setup.partners, [("receiver".parse().unwrap(), Machine::Host)].into());
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
