//! The random layouts of the commits of a run: which to link next, which execution belongs to which, and what came of them.

use super::executions::{Boots, Execution, finite, indexed};
use crate::drill::FIRST_LAYOUTS;
use crate::progress::Standing;
use faultline_model::history::HistoryNext;
use faultline_model::history::layouts::{LayoutResults, LayoutSample};
use faultline_model::plan::HistorySettings;
use faultline_model::record::RunRecord;
use faultline_model::relink::RelinkResult;
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// The random layouts that were tried of each commit: by the name of the commit, then in the order of their seeds.
pub(super) struct RandomLayouts<'a> {
    by_commit: BTreeMap<&'a str, Vec<Tried<'a>>>,
}

/// A layout that was tried.
struct Tried<'a> {
    layout: u32,
    subject: SubjectIndex,
    result: &'a RelinkResult,
}

impl<'a> RandomLayouts<'a> {
    pub(super) fn of(record: &'a RunRecord) -> Self {
        let mut by_commit: BTreeMap<&str, Vec<Tried<'_>>> = BTreeMap::new();
        for (index, subject) in indexed(record) {
            if let (Some(BuildResult::Relinked { layout, result }), Some(commit)) = (&subject.build, &subject.commit) {
                by_commit.entry(&commit.id).or_default().push(Tried { layout: *layout, subject: index, result });
            }
        }
        RandomLayouts { by_commit }
    }

    fn tried(&self, subject: &Subject) -> &[Tried<'a>] {
        let commit = subject.commit.as_ref().map_or("", |commit| commit.id.as_str());
        self.by_commit.get(commit).map_or(&[], Vec::as_slice)
    }

    /// The next layout to link of these subjects; `None` if all are. If none of the first layouts of a commit moves anything, no others are tried.
    pub(super) fn next(
        &self,
        record: &RunRecord,
        history: &HistorySettings,
        subjects: &[SubjectIndex],
    ) -> Option<HistoryNext> {
        subjects.iter().find_map(|&subject| {
            let tried = self.tried(record.subject(subject)?);
            let layout = tried.len() as u32;
            let is_moved = tried.iter().any(|one| matches!(one.result, RelinkResult::Placed { .. }));
            let is_wanted = layout < history.layouts && (layout < FIRST_LAYOUTS || is_moved);
            is_wanted.then_some(HistoryNext::Relink { subject, layout })
        })
    }

    /// The layouts of a subject that are executed, by their seeds: of those with the same places, the first.
    pub(super) fn executed(&self, subject: &Subject) -> Vec<(u32, SubjectIndex)> {
        let mut seen = BTreeSet::new();
        let tried = self.tried(subject).iter();
        let new = tried.filter(|one| match one.result {
            RelinkResult::Placed { places } => seen.insert(places.as_str()),
            RelinkResult::Unchanged | RelinkResult::Failed { .. } => false,
        });
        new.map(|one| (one.layout, one.subject)).collect()
    }

    /// What came of the layouts of a subject; `None` if none were tried. `boots`: those in which it was executed.
    pub(super) fn results(
        &self,
        record: &RunRecord,
        history: &HistorySettings,
        subject: &Subject,
        own: &BTreeMap<SubjectIndex, Vec<Execution<'_>>>,
        boots: &Boots,
    ) -> Option<LayoutResults> {
        let tried = self.tried(subject);
        if tried.is_empty() {
            return None;
        }
        let count = |is_so: fn(&RelinkResult) -> bool| tried.iter().filter(|one| is_so(one.result)).count() as u32;
        let mut failed = count(|result| matches!(result, RelinkResult::Failed { .. }));
        let mut samples = Vec::new();
        for (layout, index) in self.executed(subject) {
            let executions = own.get(&index).map_or(&[][..], Vec::as_slice);
            let of_layout = executions.iter().filter_map(|execution| {
                let value = finite(record, history, execution)?;
                Some((execution.0.ordinal, LayoutSample { layout, boot: boots.number(record, execution), value }))
            });
            let before = samples.len();
            samples.extend(of_layout);
            let has_failed = executions.iter().any(|(_, standing)| matches!(standing, Standing::Failed(_)));
            failed += u32::from(has_failed && samples.len() == before);
        }
        samples.sort_by_key(|(ordinal, _)| *ordinal);
        let unchanged = count(|result| matches!(result, RelinkResult::Unchanged));
        let samples = samples.into_iter().map(|(_, sample)| sample).collect();
        Some(LayoutResults { tried: tried.len() as u32, unchanged, failed, samples })
    }
}
