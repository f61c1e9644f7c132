//! The changes of all histories: the steps of each, the newest commit first.

use crate::histories::{History, Snapshot, measure};
use crate::problem::Problem;
use crate::query::Query;
use crate::token::hex;
use faultline_model::commit::CommitInfo;
use faultline_model::history::HistoryStep;
use faultline_model::history::change::ChangeState;
use faultline_model::record::RunId;
use faultline_model::time::UnixMillis;
use faultline_report::site::{ChangeRow, FeedEntry};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Bytes of an identifier that is made from a hash.
const ID_BYTES: usize = 16;

/// A change, with its history.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    pub(crate) history: &'a History,
    pub(crate) step: &'a HistoryStep,
}

impl<'a> Change<'a> {
    /// The first commit with the new level.
    pub(crate) fn commit(&self) -> Option<&'a CommitInfo> {
        self.history.series.commit(self.step.by)
    }

    /// As a page shows it.
    pub(crate) fn row(&self) -> ChangeRow<'a> {
        ChangeRow { id: &self.history.id, series: &self.history.series, step: self.step }
    }

    /// As the feed has it. `begun`: when each run began.
    fn entry(&self, begun: &BTreeMap<RunId, UnixMillis>) -> FeedEntry<'a> {
        let commit = self.commit().map_or("", |commit| commit.id.as_str());
        let run = self.history.series.points.get(self.step.by as usize).and_then(|point| point.run);
        let measured = run.and_then(|run| begun.get(&run)).copied().unwrap_or(UnixMillis(0));
        let said = self.step.state.log.iter().map(|event| event.at);
        FeedEntry {
            id: name_for_ever(&[&self.history.id, commit]),
            updated: said.fold(measured, Ord::max),
            change: self.row(),
        }
    }
}

/// An IRI that is the same for the same parts.
fn name_for_ever(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut bytes: [u8; ID_BYTES] = [0; ID_BYTES];
    bytes.copy_from_slice(&hash.finalize()[..ID_BYTES]);
    // RFC 9562: version 8 and the variant.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    let [a, b, c, d, e] = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
}

/// Which changes are asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Wanted {
    All,
    /// Those about which something has to be done.
    Open,
    State(ChangeState),
}

impl Wanted {
    /// From the parameter `state`. Fails if it is none.
    pub(crate) fn parse(query: &Query) -> Result<Self, Problem> {
        match query.text("state") {
            None => Ok(Wanted::All),
            Some("open") => Ok(Wanted::Open),
            Some(word) => state(word).map(Wanted::State).ok_or_else(|| {
                Problem::bad_request("`state` is no state", "it takes: open, found, confirmed, ignored, fixed")
            }),
        }
    }

    fn has(self, step: &HistoryStep) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Open => !step.is_settled(),
            Wanted::State(state) => step.state.now == state,
        }
    }
}

/// The state that has that word.
pub(crate) fn state(word: &str) -> Option<ChangeState> {
    let all = [ChangeState::Found, ChangeState::Confirmed, ChangeState::Ignored, ChangeState::Fixed];
    all.into_iter().find(|state| state.word() == word)
}

/// The changes that are asked for, the newest first.
pub(crate) fn changes(now: &Snapshot, wanted: Wanted) -> Vec<Change<'_>> {
    let mut found: Vec<Change<'_>> = Vec::new();
    for history in &now.histories {
        let steps = history.series.steps.steps.iter().filter(|step| wanted.has(step));
        found.extend(steps.map(|step| Change { history, step }));
    }
    found.sort_by_key(|change| Reverse(change.commit().map(|commit| commit.committed_s)));
    found
}

/// The newest changes as entries of the feed.
pub(crate) fn entries(now: &Snapshot, most: usize) -> Vec<FeedEntry<'_>> {
    let begun: BTreeMap<RunId, UnixMillis> = now.runs.iter().map(|run| (run.id, run.started)).collect();
    changes(now, Wanted::All).iter().take(most).map(|change| change.entry(&begun)).collect()
}

/// The name of the feed of a database.
pub(crate) fn feed_name(database: &str) -> String {
    name_for_ever(&["changes", database])
}

/// A change, for programs.
#[derive(Serialize)]
pub(crate) struct ChangeLine<'a> {
    /// Identifier of the history.
    history: &'a str,
    subject: &'a str,
    repository: &'a str,
    measure: &'static str,
    unit: &'a str,
    tasks: u32,
    /// The last measured commit with the old level, and the first with the new one.
    after: Option<&'a CommitInfo>,
    by: Option<&'a CommitInfo>,
    /// How certain it is that the program changed.
    certainty: &'static str,
    /// Number of commits of the history's line after the old level, up to the first with the new one.
    commits: u32,
    step: &'a HistoryStep,
}

impl<'a> ChangeLine<'a> {
    pub(crate) fn of(change: &Change<'a>) -> Self {
        let (series, step) = (&change.history.series, change.step);
        ChangeLine {
            history: &change.history.id,
            subject: &series.subject,
            repository: &series.repository,
            measure: measure(series.counted),
            unit: &series.unit,
            tasks: series.tasks,
            after: series.commit(step.after),
            by: series.commit(step.by),
            certainty: step.certainty().word(),
            commits: step.by - step.after,
            step,
        }
    }
}
