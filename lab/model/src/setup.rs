//! What the two sides of a live comparison are measured with.

use serde::{Deserialize, Deserializer, Serialize};
use std::collections::BTreeMap;

/// Which side of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SideName {
    /// The first: what there was.
    A,
    /// The second: what is new.
    B,
}

impl SideName {
    /// Both, in their order.
    pub const BOTH: [SideName; 2] = [SideName::A, SideName::B];

    /// The letter used in files: `a` or `b`.
    pub fn word(self) -> &'static str {
        match self {
            SideName::A => "a",
            SideName::B => "b",
        }
    }

    /// The side for a letter of [`SideName::word`].
    pub fn from_word(word: &str) -> Option<Self> {
        Self::BOTH.into_iter().find(|side| side.word() == word)
    }
}

/// What one side is measured with, where that differs from how the machine is. The default differs in nothing.
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
    /// The machine, as `--on` names it.
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

/// One side, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NamedSetup {
    /// Its name, as it is declared or was written.
    pub name: String,
    /// What it sets.
    pub setup: Setup,
}

/// A live comparison, as it was asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LiveComparison {
    /// The first side.
    pub a: NamedSetup,
    /// The second side.
    pub b: NamedSetup,
    /// Chance with which no difference at all is falsely said, over all workloads and all looks.
    pub level: f64,
    /// It may end when a ratio's interval reaches no further than this share to either side. 0: it looks once, when all that was planned is
    /// measured or the time is used up.
    pub precision: f64,
}

impl LiveComparison {
    /// A side.
    pub fn side(&self, name: SideName) -> &NamedSetup {
        match name {
            SideName::A => &self.a,
            SideName::B => &self.b,
        }
    }
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
            ..Setup::default()
        };
        assert_eq!(setup.words(), ["sysctl vm.overcommit_memory = 1", "machine qemu:cpus=2", "command ./x 1"]);
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

    #[test]
    fn letters_are_those_of_the_files() {
        for side in SideName::BOTH {
            assert_eq!(SideName::from_word(side.word()), Some(side));
            assert_eq!(serde_json::to_string(&side).unwrap(), format!("\"{}\"", side.word()));
        }
        assert_eq!(SideName::from_word("c"), None);
    }
}
