//! The conclusions about a line, as a function of the record without the blocks of reverts.

use crate::bisect::gaps::{Gap, Known, Levelled, Verdict, least_log};
use crate::bisect::line::{Line, State};
use crate::bisect::next::{for_ends, for_rest, is_narrow, settled, settled_or_samples};
use crate::bisect::sides::Sides;
use crate::bisect::{
    BisectResult, Build, ByCpuTime, Change, FoundStep, LayoutResult, LayoutTrial, LineEvidence, Measured, Next, Slope,
    SuspectedRange, Trial, TrialResult, TriedCommit,
};
use crate::commit_runs;
use crate::progress::{Standing, standings};
use faultline_record::bisect::{BisectSettings, Noise};
use faultline_record::plan::{KnownCommit, KnownResult, LineSearch, PlanItem};
use faultline_record::record::RunRecord;
use faultline_record::relink::RelinkResult;
use faultline_record::subject::{BuildResult, RevertResult, Subject, SubjectIndex};
use std::collections::{BTreeMap, BTreeSet};

/// Standard deviations of a step above the noise that is found with the probability `POWER`: those
/// of the probability at which a gap counts as one with a step, plus 0.84.
pub(crate) const DETECTABLE_DEVIATIONS: f64 = 3.5 + 0.84;

/// The conclusions, given the record; preliminary during the search.
pub fn concluded(evidence: &LineEvidence, settings: &BisectSettings) -> BisectResult {
    let of_ends = settled(&Line::new(evidence, settings), settings);
    let is_told_by_ends = settings.noise == Noise::FromEnds && of_ends.is_ok();
    let settings = &settled_or_samples(evidence, settings);
    let line = Line::new(evidence, settings);
    let known = Known::new(&line, settings);
    let further = for_ends(&line).or(of_ends.err()).unwrap_or_else(|| for_rest(&line, &known, settings));
    let (trials, unusable) = line.trials();
    let slope = |(from, to): (Levelled, Levelled)| Slope {
        from: from.position,
        to: to.position,
        ratio: (to.level - from.level).exp(),
    };
    let narrow = known.gaps.iter().filter(|gap| is_narrow(&line, &known, gap));
    let finished = further == Next::Nothing;
    BisectResult {
        format: BisectResult::FORMAT.to_owned(),
        finished,
        budget_used: false,
        ends_show: is_told_by_ends.then_some(settings.noise),
        unusable_end: [0, evidence.last].into_iter().find(|end| line.state(*end) == State::Broken),
        unusable_because: None,
        steps: narrow.map(|gap| step(&line, settings, gap)).collect(),
        remaining: if finished { Vec::new() } else { remaining(&line, &known, settings) },
        by_cpu_time: None,
        load: None,
        slopes: known.slopes(least_log(settings)).map(slope).collect(),
        course: course(&line, &known),
        probability_by_position: by_position(&known, evidence.last),
        detectable: detectable(&known, settings),
        undetected: undetected(&line, &known),
        longest_unseen: longest_unseen(&known),
        trials,
        known: 0,
        unusable,
        blocks: line.blocks() as u32,
        executions: evidence.measured.len() as u32,
    }
}

fn step(line: &Line, settings: &BisectSettings, gap: &Gap) -> FoundStep {
    let sides = Sides::new(line, settings, gap);
    let (before, after) = (gap.left.position, gap.right.position);
    FoundStep {
        before,
        after,
        candidates: (before + 1..=after).collect(),
        probability: gap.probability,
        found: gap.probability >= settings.level,
        confirmed: sides.is_confirmed(),
        change: sides.plain_change(),
        values: sides.exact_values(),
        label: sides.label(),
        under_layouts: sides.under_layouts(),
        layouts: sides.layouts_tried(),
        of_environment: sides.of_environment(),
        of_commits: sides.of_commits(),
        reverted: None,
        explained: None,
        moved: None,
        counters: Vec::new(),
    }
}

/// The gaps in which a step may be: those with one that a commit can narrow, and undecided ones.
/// Without levels, the whole line.
fn remaining(line: &Line, known: &Known, settings: &BisectSettings) -> Vec<SuspectedRange> {
    if known.gaps.is_empty() {
        return vec![SuspectedRange { before: 0, after: line.evidence.last, probability: 1.0, ratio: 1.0 }];
    }
    let error = 1.0 - settings.level;
    let may_be = |gap: &&Gap| match gap.verdict {
        Verdict::Differs => !is_narrow(line, known, gap),
        Verdict::Open => gap.of_least > error,
        Verdict::Same => false,
    };
    known.gaps.iter().filter(may_be).map(suspected).collect()
}

fn suspected(gap: &Gap) -> SuspectedRange {
    SuspectedRange {
        before: gap.left.position,
        after: gap.right.position,
        probability: gap.probability,
        ratio: (gap.right.level - gap.left.level).exp(),
    }
}

/// The steps that these values show at the level of the search, without further measurements.
/// `None` without levels.
pub(super) fn by_cpu_time(evidence: &LineEvidence, settings: &BisectSettings) -> Option<ByCpuTime> {
    let line = Line::new(evidence, settings);
    let known = Known::new(&line, settings);
    let detectable = detectable(&known, settings)?;
    let is_sure = |gap: &&Gap| gap.verdict == Verdict::Differs && gap.probability >= settings.level;
    let steps = known.gaps.iter().filter(is_sure).map(suspected).collect();
    Some(ByCpuTime { level: settings.level, steps, detectable: Some(detectable) })
}

/// Standard deviations of a level on either side of a 95 % interval.
const DEVIATIONS_OF_95: f64 = 1.96;

/// The commits with a level, relative to the first, and those that cannot be measured.
fn course(line: &Line, known: &Known) -> Vec<TriedCommit> {
    let Some(first) = known.places.first().filter(|first| first.level.is_finite()) else { return Vec::new() };
    let level = |place: &Levelled| {
        let (log, half) = (place.level - first.level, DEVIATIONS_OF_95 * place.variance.sqrt());
        let units = line.executions(place.build).len() as u32;
        Change { ratio: log.exp(), low: (log - half).exp(), high: (log + half).exp(), units }
    };
    let of_place = |place: &Levelled| TriedCommit { position: place.position, level: Some(level(place)) };
    let broken = line.positions().filter(|position| line.state(*position) == State::Broken);
    let mut course: Vec<TriedCommit> = known.places.iter().map(of_place).collect();
    course.extend(broken.map(|position| TriedCommit { position, level: None }));
    course.sort_by_key(|tried| tried.position);
    course
}

/// Each gap's probability, divided equally among its commits.
fn by_position(known: &Known, last: u32) -> Vec<f64> {
    let mut all = vec![0.0; last as usize];
    for gap in &known.gaps {
        let (left, right) = (gap.left.position as usize, gap.right.position as usize);
        all[left..right].fill(gap.probability / (right - left) as f64);
    }
    all
}

fn detectable(known: &Known, settings: &BisectSettings) -> Option<f64> {
    let of_noise = |gap: &Gap| DETECTABLE_DEVIATIONS * (gap.left.variance + gap.right.variance).sqrt();
    let greatest = known.gaps.iter().map(of_noise).reduce(f64::max)?;
    Some(greatest.exp_m1().max(settings.least))
}

/// For several steps, their expected number, at most 1.
fn undetected(line: &Line, known: &Known) -> f64 {
    let others = known.gaps.iter().filter(|gap| !is_narrow(line, known, gap));
    others.map(|gap| gap.of_least).sum::<f64>().min(1.0)
}

fn longest_unseen(known: &Known) -> u32 {
    let same = known.gaps.iter().filter(|gap| gap.verdict == Verdict::Same && gap.left.build != gap.right.build);
    same.map(|gap| gap.right.position - gap.left.position - 1).max().unwrap_or(0)
}

/// Conclusions from the line alone.
pub(super) fn concluded_of_record(record: &RunRecord) -> Option<BisectResult> {
    let search = record.settings.bisect()?;
    Some(concluded(&evidence(record, search), &search.search))
}

/// Blocks planned for reverts, which carry no evidence about the line.
pub(super) fn blocks_of_reverts(record: &RunRecord) -> BTreeSet<u32> {
    let is_reverted = |item: &&PlanItem| record.subject(item.subject).is_some_and(|subject| revert(subject).is_some());
    record.plan.iter().filter(is_reverted).map(|item| item.block).collect()
}

/// The commit that a subject undoes, and the result.
pub(super) fn revert(subject: &Subject) -> Option<(&str, &RevertResult)> {
    match &subject.build {
        Some(BuildResult::Reverted { of, result }) => Some((of, result)),
        _ => None,
    }
}

/// The evidence of the line: trials and measurements. A commit is usable if it was built and an
/// execution of it succeeded.
pub(super) fn evidence(record: &RunRecord, search: &LineSearch) -> LineEvidence {
    let mut evidence = LineEvidence::new(search.line.last(), Vec::new());
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
        let result = match (same, commit_runs::result(subject, own.clone().map(|(_, standing)| standing))) {
            (Some(position), TrialResult::Usable) => TrialResult::SameAs { position },
            (_, result) => result,
        };
        evidence.trials.push(Trial { position, environment: 0, result });
        let build = Build::plain(position, 0);
        evidence.measured.extend(own.filter_map(|(item, standing)| measured(record, search, build, item, standing)));
    }
    evidence
}

/// The first layout of each commit by the digest of its places.
type Places<'a> = BTreeMap<(u32, &'a str), u32>;

/// The result of a random layout, given the states of its executions.
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

/// A commit's result of earlier runs. Values are exact, so it needs no block.
fn add_known(known: &KnownCommit, evidence: &mut LineEvidence) {
    let (position, environment) = (known.position, 0);
    let result = match known.result {
        KnownResult::Value { .. } => TrialResult::Usable,
        KnownResult::Unusable { why } => TrialResult::Unusable { why },
    };
    evidence.trials.push(Trial { position, environment, result });
    if let KnownResult::Value { value, .. } = known.result {
        let build = Build::plain(position, environment);
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
        Standing::Done(attempt) => commit_runs::value(record, &search.measure, item, attempt),
        Standing::Failed(_) => None,
        Standing::Skipped | Standing::Left => return None,
    };
    // Values share their seed, not their block.
    let seed = match search.search.noise {
        Noise::Seeds | Noise::FromEnds => item.seed.and_then(|seed| seed.checked_sub(record.settings.seed)),
        Noise::None | Noise::Any => None,
    };
    let block = seed.and_then(|seed| u32::try_from(seed).ok()).unwrap_or(item.block);
    Some(Measured { build, block, value })
}
