//! The keeper's report to its caller: one line for each fact, the ending last.

use crate::lack::Lack;
use crate::system_settings::Before;
use std::path::PathBuf;

/// Ending of the kept program, as the keeper reports it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::keep) enum Told {
    /// With an exit status.
    Status(i32),
    /// By a signal.
    Signal(i32),
    /// The program could not be started; the reason.
    NotStarted(String),
}

impl Told {
    fn read(kind: &str, rest: &str) -> Option<Self> {
        match kind {
            "status" => rest.parse().ok().map(Told::Status),
            "signal" => rest.parse().ok().map(Told::Signal),
            "not-started" => Some(Told::NotStarted(rest.to_owned())),
            _ => None,
        }
    }

    pub(super) fn line(&self) -> String {
        match self {
            Told::Status(status) => format!("status {status}\n"),
            Told::Signal(signal) => format!("signal {signal}\n"),
            Told::NotStarted(text) => format!("not-started {text}\n"),
        }
    }
}

/// Everything that a keeper reports, in this order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(in crate::keep) struct Account {
    /// Previous values of settings; each is reported before the setting is written.
    pub(in crate::keep) before: Vec<Before>,
    /// Settings that could not be restored, as texts.
    pub(in crate::keep) left: Vec<String>,
    /// The lack of this host that may explain a failure.
    pub(in crate::keep) lack: Option<Lack>,
    /// Ending of the program. This is the last line: the settings have been restored before it.
    pub(in crate::keep) told: Option<Told>,
}

impl Account {
    /// Parses the keeper's lines. An incomplete line is ignored.
    pub(in crate::keep) fn read(heard: &str) -> Self {
        let mut account = Account::default();
        for line in heard.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')) {
            let Some((kind, rest)) = line.split_once(' ') else { continue };
            match kind {
                "was" => account.before.extend(read_before(rest)),
                "left" => account.left.push(rest.to_owned()),
                "lack" => account.lack = Some(Lack::present(rest.to_owned())),
                "lacked" => account.lack = Some(Lack::over(rest.to_owned())),
                _ => account.told = Told::read(kind, rest),
            }
        }
        account
    }
}

pub(super) fn lack_line(Lack { text, is_over }: &Lack) -> String {
    format!("{} {}\n", if *is_over { "lacked" } else { "lack" }, text.replace('\n', " "))
}

/// A resolved path and a one-line value contain no NUL character.
pub(super) fn before_line(before: &Before) -> String {
    format!("was {}\0{}\n", before.file.display(), before.value)
}

fn read_before(text: &str) -> Option<Before> {
    let (file, value) = text.split_once('\0')?;
    Some(Before { file: PathBuf::from(file), value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_read_back() {
        let before = vec![Before { file: "/proc/sys/a b".into(), value: "1\t2".into() }];
        let left = vec!["it can't be".to_owned()];
        for told in [Told::Status(71), Told::Signal(9), Told::NotStarted("No such file or directory".into())] {
            for lack in [Lack::present("no space".to_owned()), Lack::over("no memory".to_owned())] {
                let heard = format!("{}left it can't be\n{}{}", before_line(&before[0]), lack_line(&lack), told.line());
                let (before, left, told) = (before.clone(), left.clone(), Some(told.clone()));
                assert_eq!(Account::read(&heard), Account { before, left, lack: Some(lack), told });
            }
        }
        assert_eq!(Account::read("nonsense"), Account::default());
    }

    #[test]
    fn what_is_cut_off_is_not_believed() {
        assert_eq!(Account::read("status 7"), Account::default());
        assert_eq!(Account::read("was /proc/sys/x\x005").before, []);
    }
}
