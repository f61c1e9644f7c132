//! What a run's record holds of its line: what was tried and measured, without what was measured for reverts.

use super::concluded;
use crate::progress::{Standing, standings};
use crate::tried;
use faultline_model::drill::{Build, Drill, Evidence, LayoutResult, LayoutTrial, Measured, Noise, Trial, TrialResult};
use faultline_model::plan::{KnownCommit, KnownResult, LineSearch, PlanItem};
use faultline_model::record::RunRecord;
use faultline_model::relink::RelinkResult;
use faultline_model::reverted::RevertResult;
use faultline_model::subject::{BuildResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// What the line alone tells.
pub(super) fn concluded_of_record(record: &RunRecord) -> Option<Drill> {
    let search = record.settings.drill()?;
    Some(concluded(&evidence(record, search), &search.search))
}

/// The blocks that were planned for reverts. They tell nothing of the line.
pub(super) fn blocks_of_reverts(record: &RunRecord) -> BTreeSet<u32> {
    let is_reverted = |item: &&PlanItem| record.subject(item.subject).is_some_and(|subject| revert(subject).is_some());
    record.plan.iter().filter(is_reverted).map(|item| item.block).collect()
}

/// The commit that a subject undoes, and what came of it.
pub(super) fn revert(subject: &Subject) -> Option<(&str, &RevertResult)> {
    match &subject.build {
        Some(BuildResult::Reverted { of, result }) => Some((of, result)),
        _ => None,
    }
}

/// What was tried and measured of the line. A commit is usable if it was built and an execution of it succeeded.
pub(super) fn evidence(record: &RunRecord, search: &LineSearch) -> Evidence {
    let mut evidence = Evidence::new(search.line.last(), Vec::new());
    search.known.iter().for_each(|known| add_known(known, &mut evidence));
    let of_reverts = blocks_of_reverts(record);
    let standings: Vec<_> =
        standings(record).into_iter().filter(|(item, _)| !of_reverts.contains(&item.block)).collect();
    let mut first_by_directory: BTreeMap<&str, u32> = BTreeMap::new();
    let mut places = Places::new();
    for (number, subject) in record.subjects.iter().enumerate() {
        let index = SubjectIndex(number as u32);
        let Some(position) = position(search, subject) else { continue };
        let own = standings.iter().filter(|(item, _)| item.subject == index);
        if let Some(BuildResult::Relinked { layout, result }) = &subject.build {
            let build = Build::plain(position, 0).with_layout(*layout);
            let result = relinked(&mut places, position, *layout, result, own.clone().map(|(_, standing)| standing));
            evidence.layouts.push(LayoutTrial { build, result });
            evidence
                .measured
                .extend(own.filter_map(|(item, standing)| measured(record, search, build, item, standing)));
            continue;
        }
        let same = subject.setup.directory.as_deref().and_then(|directory| {
            let first = *first_by_directory.entry(directory).or_insert(position);
            (first != position).then_some(first)
        });
        let result = match (same, tried::result(subject, own.clone().map(|(_, standing)| standing))) {
            (Some(position), TrialResult::Usable) => TrialResult::SameAs { position },
            (_, result) => result,
        };
        evidence.trials.push(Trial { position, surroundings: 0, result });
        let build = Build::plain(position, 0);
        evidence.measured.extend(own.filter_map(|(item, standing)| measured(record, search, build, item, standing)));
    }
    evidence
}

/// The first layout of each commit with the places of that digest.
type Places<'a> = BTreeMap<(u32, &'a str), u32>;

/// What came of a random layout, given the states of its executions.
fn relinked<'a, 'b>(
    places: &mut Places<'a>,
    position: u32,
    layout: u32,
    result: &'a RelinkResult,
    mut own: impl Iterator<Item = &'b Standing<'b>> + Clone,
) -> LayoutResult {
    let has_failed = own.clone().any(|standing| matches!(standing, Standing::Failed(_)));
    let has_succeeded = own.any(|standing| matches!(standing, Standing::Done(_)));
    match result {
        RelinkResult::Failed { .. } => LayoutResult::Failed,
        RelinkResult::Placed { .. } if has_failed && !has_succeeded => LayoutResult::Failed,
        RelinkResult::Unchanged => LayoutResult::Unchanged,
        RelinkResult::Placed { places: digest } => match *places.entry((position, digest)).or_insert(layout) {
            first if first == layout => LayoutResult::Placed,
            layout => LayoutResult::SameAs { layout },
        },
    }
}

/// What earlier runs say of a commit. It needs no block of its own: only exact values are known.
fn add_known(known: &KnownCommit, evidence: &mut Evidence) {
    let (position, surroundings) = (known.position, 0);
    let result = match known.result {
        KnownResult::Value { .. } => TrialResult::Usable,
        KnownResult::Unusable { why } => TrialResult::Unusable { why },
    };
    evidence.trials.push(Trial { position, surroundings, result });
    if let KnownResult::Value { value, .. } = known.result {
        let build = Build::plain(position, surroundings);
        evidence.measured.push(Measured { build, block: 0, value: Some(value) });
    }
}

fn position(search: &LineSearch, subject: &Subject) -> Option<u32> {
    search.line.position(&subject.commit.as_ref()?.id)
}

/// An execution that has ended.
fn measured(
    record: &RunRecord,
    search: &LineSearch,
    build: Build,
    item: &PlanItem,
    standing: &Standing<'_>,
) -> Option<Measured> {
    let value = match standing {
        Standing::Done(attempt) => tried::value(record, &search.measure, item, attempt),
        Standing::Failed(_) => None,
        Standing::Skipped | Standing::Left => return None,
    };
    // The seed says what values have in common, not the block.
    let seed = match search.search.noise {
        Noise::Seeds | Noise::FromEnds => item.seed.and_then(|seed| seed.checked_sub(record.settings.seed)),
        Noise::None | Noise::Any => None,
    };
    let block = seed.and_then(|seed| u32::try_from(seed).ok()).unwrap_or(item.block);
    Some(Measured { build, block, value })
}
