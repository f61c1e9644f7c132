//! A table `[[quirk]]`: a change of the surroundings that nothing records.

use faultline_model::artefact::Release;
use faultline_model::history::quirk::{DeclaredQuirk, QuirkTime};
use faultline_model::subject::Commit;
use faultline_model::time::UnixMillis;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use serde::Deserialize;

/// The table as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    what: String,
    since: Option<String>,
    commits: Option<Vec<String>>,
    subjects: Option<Vec<String>>,
}

impl Entry {
    /// The subjects that it belongs to, all if `None`, and what it means. `releases`: those of all subjects. Fails with the problem in words.
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

/// A day, which begins at midnight in UTC, or a time with its offset.
fn time(text: &str) -> Result<UnixMillis, String> {
    let day = || text.parse::<Date>().ok()?.to_zoned(TimeZone::UTC).ok().map(|day| day.timestamp());
    let time = text.parse::<Timestamp>().ok().or_else(day);
    time.map(|time| UnixMillis(time.as_millisecond())).ok_or_else(|| {
        format!("'{}' is neither a day like 2026-11-20 nor a time like 2026-11-20T18:30:00Z", text.escape_debug())
    })
}

/// The first digits of a commit, in lower case, or the name of a release.
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
