//! The tables `[notify]` and `[[quirk]]` of faultline.toml.

use crate::declared::entry::{Length, Words};
use crate::notify::{Notify, USUAL_LIMIT, WebHook, Whom};
use faultline_record::artefact::Release;
use faultline_record::quirk::{DeclaredQuirk, QuirkTime};
use faultline_record::subject::Commit;
use faultline_record::time::UnixMillis;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;
use std::path::Path;

/// The table `[notify]`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NotifyEntry {
    command: Option<Words>,
    webhook: Option<String>,
    limit: Option<Length>,
}

impl NotifyEntry {
    /// The notification. `directory`: of the file. Fails with the problem.
    pub(super) fn notify(self, directory: &Path) -> Result<Notify, String> {
        let limit = self.limit.map_or(USUAL_LIMIT, |limit| limit.0);
        let whom = match (self.command, self.webhook) {
            (Some(words), None) => Whom::Command { words: words.0, directory: directory.to_owned() },
            (None, Some(address)) => {
                Whom::WebHook(WebHook::at(&address).map_err(|problem| format!("`webhook`: {problem}"))?)
            }
            (Some(_), Some(_)) => return Err("`[notify]` takes `command` or `webhook`, not both".to_owned()),
            (None, None) => return Err("give `command` or `webhook`".to_owned()),
        };
        Ok(Notify { whom, limit })
    }
}

/// A table `[[quirk]]`: a change of the environment that is not recorded.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct QuirkEntry {
    what: String,
    since: Option<String>,
    commits: Option<Vec<String>>,
    subjects: Option<Vec<String>>,
}

impl QuirkEntry {
    /// The names of its subjects, all if `None`, and the quirk. `releases`: of all subjects. Fails
    /// with the problem.
    pub(super) fn quirk(self, releases: &[&Release]) -> Result<(Option<Vec<String>>, DeclaredQuirk), String> {
        if self.what.trim().is_empty() {
            return Err("`what` says what changed".to_owned());
        }
        let when = match (self.since, self.commits) {
            (Some(since), None) => QuirkTime::Since { at: time(&since)? },
            (None, Some(commits)) => match commits.as_slice() {
                [first] => QuirkTime::Commits { first: commit(first, releases)?, last: None },
                [first, last] => {
                    QuirkTime::Commits { first: commit(first, releases)?, last: Some(commit(last, releases)?) }
                }
                _ => return Err("`commits` takes the first commit, and perhaps the last".to_owned()),
            },
            _ => return Err("give `since`, a time of measuring, or `commits`, the first and the last".to_owned()),
        };
        Ok((self.subjects, DeclaredQuirk { what: self.what, when }))
    }
}

/// A day, from midnight in UTC, or a time with its offset.
fn time(text: &str) -> Result<UnixMillis, String> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(day);
    time.map(|time| UnixMillis(time.as_millisecond())).ok_or_else(|| {
        format!("'{}' is neither a day like 2026-11-20 nor a time like 2026-11-20T18:30:00Z", text.escape_debug())
    })
}

/// The first digits of a commit in lower case, or the name of a release.
fn commit(name: &str, releases: &[&Release]) -> Result<String, String> {
    let digits = Commit::named(name).map(|commit| commit.id);
    let is_release = || releases.iter().any(|release| release.name == name);
    digits.or_else(|| is_release().then(|| name.to_owned())).ok_or_else(|| {
        let name = name.escape_debug();
        format!(
            "'{name}' is neither a commit, which is named by 7 to 64 hexadecimal digits, nor a release of a subject"
        )
    })
}
