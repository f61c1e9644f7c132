//! The rows of counts, from a run of a line of two commits; and the next work of that run.
//!
//! Both commits are built first, so that their guests run side by side. Then both are counted with
//! further seeds, until every measure is decided.

use super::paired::judge;
use super::{CiRow, CiUnusable};
use crate::commit_runs::{LineNext, not_measured};
use crate::lens::overlap;
use crate::median::median;
use crate::progress::{Standing, standings};
use crate::thresholds::CI_OVERLAP;
use faultline_record::lens::reading::Reading;
use faultline_record::plan::LineSearch;
use faultline_record::quantity::Quantity;
use faultline_record::record::RunRecord;
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeMap;

/// The next work of a run that answers several questions about two commits; `None` for another run.
pub fn next_of_record(record: &RunRecord) -> Option<LineNext> {
    let search = record.settings.bisect().filter(|search| !search.also.is_empty())?;
    if unusable(record).is_some() {
        return Some(LineNext::Nothing);
    }
    let mut subjects = Vec::new();
    for position in [0, search.line.last()] {
        match subject(record, search, position) {
            Some(index) => subjects.push(index),
            None => return Some(LineNext::Build { position, execute: false }),
        }
    }
    // The first subject with the same build is executed for both.
    let directory = |index: &SubjectIndex| &record.subjects[index.at()].setup.directory;
    subjects.dedup_by_key(|index| directory(index).clone());
    let planned = record.plan.iter().filter(|item| item.subject == subjects[0]).count();
    let is_open = |what: &Quantity| *what != Quantity::Transfers || is_parallel(record);
    let measures = [search.measure.quantity()].into_iter().chain(search.also.iter().copied()).filter(is_open);
    let wanted = |what| {
        let judged = judge(&pairs(record, what), search.search.least, search.search.level);
        judged.map_or(1, |judged| judged.wanted)
    };
    let wanted = measures.map(wanted).max().unwrap_or(1);
    // A seed without a count is not tried again.
    let blocks: Vec<(u32, Vec<SubjectIndex>)> = (planned..wanted).map(|seed| (seed as u32, subjects.clone())).collect();
    Some(if blocks.is_empty() { LineNext::Nothing } else { LineNext::Execute { blocks } })
}

/// The row of a count. `None` for another run, without counts of both sides, and for transfers of a
/// program whose CPUs hardly work at the same time.
pub fn counted(record: &RunRecord, what: Quantity, budget: f64, decides: bool) -> Option<CiRow> {
    let search = record.settings.bisect()?;
    if what == Quantity::Transfers && !is_parallel(record) {
        return None;
    }
    let pairs = pairs(record, what);
    let judged = judge(&pairs, budget, search.search.level)?;
    let side = |side: usize| median(&pairs.iter().map(|pair| pair[side]).collect::<Vec<f64>>());
    let (base, head) = (side(0)?, side(1)?);
    Some(CiRow {
        quantity: what,
        base,
        head,
        change: judged.ratio.map(|[ratio, ..]| ratio - 1.0).or((base > 0.0).then(|| head / base - 1.0)),
        interval: judged.ratio.map(|[_, low, high]| [low - 1.0, high - 1.0]),
        executions: (!judged.is_exact).then_some(pairs.len() as u32),
        budget,
        decides,
        verdict: judged.verdict,
        detectable: judged.detectable,
    })
}

/// Share of the time in which at least two CPUs were busy, of the commit with more; `None` if it
/// was not counted. The first seed decides alone: more seeds change no answer.
pub fn overlap_of(record: &RunRecord) -> Option<f64> {
    let first = |side: BTreeMap<u64, &Reading>| side.into_values().next().and_then(overlap);
    sides(record)?.into_iter().filter_map(first).reduce(f64::max)
}

/// True if transfers of the program decide.
fn is_parallel(record: &RunRecord) -> bool {
    overlap_of(record).is_some_and(|share| share >= CI_OVERLAP)
}

/// The counts of the old and the new commit with each seed that both have.
fn pairs(record: &RunRecord, what: Quantity) -> Vec<[f64; 2]> {
    let count = |reading: &Reading| Some(reading.per_operation(what.count(&reading.totals)?));
    readings(record).into_iter().filter_map(|[base, head]| Some([count(base)?, count(head)?])).collect()
}

/// The readings of the old and the new commit with each seed that both have.
pub(super) fn readings(record: &RunRecord) -> Vec<[&Reading; 2]> {
    let Some([base, head]) = sides(record) else { return Vec::new() };
    base.into_iter().filter_map(|(seed, base)| Some([base, *head.get(&seed)?])).collect()
}

/// The readings of both sides by seed. Sides with the same build share them.
fn sides(record: &RunRecord) -> Option<[BTreeMap<u64, &Reading>; 2]> {
    let search = record.settings.bisect()?;
    let [base, head] = [subject(record, search, 0)?, subject(record, search, search.line.last())?];
    let standings = standings(record);
    let of = |index: SubjectIndex| {
        let directory = &record.subjects[index.at()].setup.directory;
        let is_executed = |other: SubjectIndex| {
            other == index
                || directory.is_some()
                    && record.subjects.get(other.at()).map(|one| &one.setup.directory) == Some(directory)
        };
        let own = standings.iter().filter(|(item, _)| is_executed(item.subject));
        own.filter_map(|(item, standing)| match standing {
            Standing::Done(attempt) => Some((item.seed.unwrap_or_default(), attempt.reading.as_deref()?)),
            Standing::Failed(_) | Standing::Skipped | Standing::Left => None,
        })
        .collect()
    };
    Some([of(base), of(head)])
}

/// The build of a commit of the line.
fn subject(record: &RunRecord, search: &LineSearch, position: u32) -> Option<SubjectIndex> {
    let id = &search.line.commits.get(position as usize)?.id;
    let mut subjects = (0..).map(SubjectIndex).zip(&record.subjects);
    let found = subjects.find(|(_, subject)| subject.commit.as_ref().is_some_and(|commit| commit.id == *id));
    found.map(|(index, _)| index)
}

/// The first side that does not build, or of which an execution failed: those that succeed may be
/// the cheap ones.
pub fn unusable(record: &RunRecord) -> Option<CiUnusable> {
    let last = &record.settings.bisect()?.line.commits.last()?.id;
    let standings = standings(record);
    (0..).map(SubjectIndex).zip(&record.subjects).find_map(|(index, subject)| {
        let own = standings.iter().filter(|(item, _)| item.subject == index).map(|(_, standing)| standing);
        let is_head = subject.commit.as_ref().is_some_and(|commit| commit.id == *last);
        Some(CiUnusable { is_head, reason: not_measured(subject, own)? })
    })
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::bisect::counted_search;
    use crate::ci::{CiVerdict, MOST_SEEDS};
    use faultline_record::lens::reading::Overlap;
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::RunKind;
    use faultline_record::subject::BuildResult;
    use std::num::NonZeroU64;

    /// A run about two commits with these counts of both by seed: instructions and transfers. Of
    /// 1000 clocks, two CPUs overlap in `overlapping`.
    pub(in crate::ci) fn compared(seeds: &[[[u64; 2]; 2]], overlapping: u64) -> RunRecord {
        let tried: Vec<(u32, f64)> = seeds.iter().flat_map(|_| [(0, 0.0), (1, 0.0)]).collect();
        let mut record = counted_search(Quantity::Instructions, &tried);
        let RunKind::Bisect(search) = &mut record.head.settings.kind else { panic!() };
        search.measured.line.commits.truncate(2);
        search.also = vec![Quantity::Transfers];
        search.search.least = 0.01;
        record.head.subjects.truncate(2);
        for (index, subject) in record.head.subjects.iter_mut().enumerate() {
            subject.setup.directory = Some(format!("/build/{index}"));
        }
        for (index, (item, attempt)) in record.plan.iter_mut().zip(&mut record.attempts).enumerate() {
            let (seed, side) = (index / 2, index % 2);
            item.subject = SubjectIndex(side as u32);
            item.seed = Some(seed as u64);
            let reading = attempt.reading.as_mut().unwrap();
            [reading.totals.instructions, reading.totals.transfers] = seeds[seed][side];
            reading.operations = NonZeroU64::MIN;
            reading.overlap = Overlap { busy_time: 1000, overlapping_time: overlapping };
        }
        record
    }

    fn next(record: &RunRecord) -> LineNext {
        next_of_record(record).unwrap()
    }

    /// Both sides with these seeds.
    fn both(seeds: &[u32]) -> LineNext {
        let block = |seed: &u32| (*seed, vec![SubjectIndex(0), SubjectIndex(1)]);
        LineNext::Execute { blocks: seeds.iter().map(block).collect() }
    }

    #[test]
    fn both_commits_are_built_and_then_counted_together() {
        let mut record = compared(&[[[1, 0], [1, 0]]], 0);
        (record.plan, record.attempts) = (Vec::new(), Vec::new());
        let subjects = std::mem::take(&mut record.head.subjects);
        let build = |position| LineNext::Build { position, execute: false };
        assert_eq!(next(&record), build(0));
        record.head.subjects = vec![subjects[0].clone()];
        assert_eq!(next(&record), build(1));
        record.head.subjects = subjects;
        assert_eq!(next(&record), both(&[0]));
        record.head.subjects[1].setup.directory = record.head.subjects[0].setup.directory.clone();
        assert_eq!(next(&record), LineNext::Execute { blocks: vec![(0, vec![SubjectIndex(0)])] }, "one build");
        record.head.subjects[0].build = Some(BuildResult::Failed { how: "no".into(), output: String::new() });
        assert_eq!((next(&record), unusable(&record).unwrap().is_head), (LineNext::Nothing, false));
    }

    #[test]
    fn equal_counts_end_the_run_and_others_take_another_seed() {
        let equal = compared(&[[[1000, 3], [1000, 3]]], 900);
        assert_eq!(next(&equal), LineNext::Nothing);
        assert_eq!(counted(&equal, Quantity::Transfers, 0.01, true).unwrap().verdict, CiVerdict::Equal);
        let more = compared(&[[[1000, 3], [1030, 3]]], 0);
        assert_eq!(next(&more), both(&[1]));
        let exact = compared(&[[[1000, 3], [1030, 3]]; 2], 0);
        assert_eq!(next(&exact), LineNext::Nothing);
        let row = counted(&exact, Quantity::Instructions, 0.01, true).unwrap();
        assert_eq!((row.verdict, row.executions, row.interval), (CiVerdict::Worse, None, None));
        assert_eq!(next(&compared(&[[[1000, 3], [1030, 3]], [[1010, 3], [1040, 3]]], 0)), both(&[2]));
    }

    #[test]
    fn transfers_decide_only_if_cpus_work_at_the_same_time() {
        let seeds = [[[1000, 100], [1000, 300]], [[1000, 200], [1000, 100]]];
        let serial = compared(&seeds, 99);
        assert_eq!((next(&serial), overlap_of(&serial)), (LineNext::Nothing, Some(0.099)));
        assert_eq!(counted(&serial, Quantity::Transfers, 0.01, true), None);
        let parallel = compared(&seeds, 100);
        assert_eq!(next(&parallel), both(&[2]));
        assert_eq!(counted(&parallel, Quantity::Transfers, 0.01, true).unwrap().verdict, CiVerdict::Inconclusive);
    }

    #[test]
    fn counting_ends_whatever_the_counts() {
        for noise in [[0, 0, 0, 0, 0, 0, 0, 0], [5, 9, 2, 8, 1, 7, 3, 6], [500, 90, 20, 800, 100, 7, 300, 600]] {
            let seed = |number: usize| [[1000, 1000], [1000 + noise[number], 1000 - noise[7 - number] / 2]];
            let mut seeds = vec![seed(0)];
            while next(&compared(&seeds, 500)) != LineNext::Nothing {
                assert!(seeds.len() < MOST_SEEDS as usize, "{noise:?}");
                seeds.push(seed(seeds.len()));
            }
        }
    }

    #[test]
    fn a_failed_execution_ends_it_and_a_lost_reading_is_not_counted_again() {
        let mut record = compared(&[[[1000, 3], [1030, 3]]], 0);
        record.attempts[1].reading = None;
        assert_eq!(next(&record), LineNext::Nothing, "one seed is planned, and there is no pair");
        record.attempts[1].outcome = Some(Outcome::TimedOut { limit_ms: 1 });
        assert!(unusable(&record).unwrap().is_head && next(&record) == LineNext::Nothing);
    }
}
