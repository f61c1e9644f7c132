//! The answers of a live comparison from its record, by repeating its looks in order.

use super::answers::{settled, withheld};
use super::looks::{last_look, looks};
use crate::comparison::{self, Comparison, ComparisonError, Ended, Look, Sequential, compare_sides, sides_answers};
use crate::progress::{Standing, standings};
use crate::workload_comparison::FewUnits;
use faultline_record::cell::Cell;
use faultline_record::plan::{PlanItem, Settings};
use faultline_record::record::{RunRecord, RunState};
use faultline_record::subject::SubjectIndex;
use std::collections::BTreeSet;

/// Takes the looks for which the record has all blocks, up to the first that settles every
/// workload. The answers are those of the last look. Level and margin come from the comparison in
/// the record.
///
/// A finished record that was cut short, by its budget or because more blocks would add nothing,
/// gets a final look at the measured blocks. An open record, stopped or still running
/// ([`Ended::Stopped`]), does not, because a user may read it after every block. Before its first
/// look it has no answers, and each workload has a caution about it.
///
/// A workload that failed on one side in every block up to a look does not delay the others: it has
/// no comparison, and [`Comparison::unmatched`] has the reason.
pub fn concluded(record: &RunRecord, settings: &comparison::Settings) -> Result<Comparison, ComparisonError> {
    let Some(comparison) = record.settings.comparison() else { return Err(ComparisonError::NoSides(record.id.0)) };
    let mut settings = *settings;
    settings.two_sample.level = comparison.level;
    settings.two_sample.margin = comparison.margin;
    let planned = planned_looks(&record.settings, &record.plan);
    let whole = whole_blocks(record);
    let (taken, ended) = taken(record, &planned, whole, |look| Ok(settled(&sides_answers(record, &settings, *look)?)))?;
    let compared = match taken.last() {
        Some(last) => compare_sides(record, &settings, Some(*last))?,
        None => before_the_first_look(record, &settings, &planned, whole)?,
    };
    let unspent = planned.strip_prefix(taken.as_slice()).unwrap_or_default();
    let sequential =
        Sequential { level: comparison.level, taken: taken.len() as u32, looks: [&taken, unspent].concat(), ended };
    Ok(Comparison { sequential: Some(sequential), ..compared })
}

/// The measured values, without answers.
fn before_the_first_look(
    record: &RunRecord,
    settings: &comparison::Settings,
    planned: &[Look],
    whole: u32,
) -> Result<Comparison, ComparisonError> {
    let Some(first) = planned.first().filter(|_| whole > 0) else {
        return Err(ComparisonError::NoWholeBlock);
    };
    let seen = Look { blocks: whole, ..*first };
    let no_look = FewUnits::NoLook { measured: whole, first_look: first.blocks };
    Ok(withheld(compare_sides(record, settings, Some(seen))?, no_look))
}

/// The planned looks of a run: a single one at the end if it cannot stop early, none if it has no
/// sides.
pub fn planned_looks(settings: &Settings, plan: &[PlanItem]) -> Vec<Look> {
    let blocks = settings.repeats;
    match settings.comparison() {
        None => Vec::new(),
        Some(comparison) if comparison.once => vec![Look { blocks, alpha: 1.0 - comparison.level }],
        Some(comparison) => looks(blocks, workloads(plan), comparison.level),
    }
}

/// The looks that are taken, and the reason why the comparison ended.
fn taken(
    record: &RunRecord,
    planned: &[Look],
    whole: u32,
    mut is_settled: impl FnMut(&Look) -> Result<bool, ComparisonError>,
) -> Result<(Vec<Look>, Ended), ComparisonError> {
    let within: Vec<Look> = planned.iter().copied().take_while(|look| look.blocks <= whole).collect();
    for (index, look) in within.iter().enumerate() {
        if is_settled(look)? {
            return Ok((within[..=index].to_vec(), Ended::Settled));
        }
    }
    let ended = match record.state {
        _ if within.len() == planned.len() => Ended::Planned,
        RunState::Finished => Ended::Budget,
        RunState::Open => Ended::Stopped,
    };
    let level = record.settings.comparison().map_or(0.0, |comparison| comparison.level);
    let last = last_look(planned, within.len() as u32, whole, workloads(&record.plan), level);
    let cut_short = last.filter(|_| ended == Ended::Budget);
    Ok((within.into_iter().chain(cut_short).collect(), ended))
}

/// Number of pairs of cells.
fn workloads(plan: &[PlanItem]) -> u32 {
    let first = plan.iter().filter(|item| item.subject == SubjectIndex::A);
    first.map(|item| &item.cell).collect::<BTreeSet<&Cell>>().len() as u32
}

/// Number of leading blocks in which every item has ended.
fn whole_blocks(record: &RunRecord) -> u32 {
    let open = |(item, standing): &(&PlanItem, Standing<'_>)| {
        matches!(standing, Standing::Skipped | Standing::Left).then_some(item.block)
    };
    standings(record).iter().filter_map(open).min().unwrap_or(record.settings.repeats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::comparison::ComparedWorkload;
    use crate::example;
    use crate::unmatched::{Letter, UnmatchedReason};
    use crate::workload_comparison::{Answer, Caution, Inconclusive, Method};
    use faultline_record::failure::{Failure, FailureCause};
    use faultline_record::outcome::Outcome;
    use faultline_record::plan::RunKind;

    /// A record of two sides, up to 60 blocks: equal, or the second side `faster` by half.
    fn record(faster: bool) -> RunRecord {
        let rate = |_, block| 1_000_003 + 40_000 * u64::from(block * 7 % 11);
        let other = |_, block| 1_000_033 + 40_000 * u64::from(block * 5 % 11);
        let half_more = |_, block| 1_500_003 + 40_000 * u64::from(block * 7 % 11);
        let run = example::Run::new(&["load"]).tasks(&[1]).repeats(60).rate(rate);
        run.against(if faster { half_more } else { other }).record()
    }

    /// The record cut to a number of blocks: by its budget, or stopped.
    fn cut(mut record: RunRecord, blocks: u32, budget: bool) -> RunRecord {
        let later: Vec<u32> = record.plan.iter().filter(|item| item.block >= blocks).map(|item| item.ordinal).collect();
        record.attempts.retain(|attempt| !later.contains(&attempt.ordinal));
        (record.skipped, record.head.state) =
            if budget { (later, RunState::Finished) } else { (Vec::new(), RunState::Open) };
        record
    }

    fn of(record: &RunRecord) -> (Comparison, Sequential) {
        let compared = concluded(record, &comparison::Settings::default()).unwrap();
        let sequential = compared.sequential.clone().unwrap();
        (compared, sequential)
    }

    #[test]
    fn a_great_difference_settles_at_the_first_look() {
        let (compared, sequential) = of(&record(true));
        assert_eq!((sequential.taken, sequential.ended), (1, Ended::Settled));
        let workload = &compared.workloads[0].comparison;
        assert_eq!((workload.answer, workload.a.units), (Answer::Faster, sequential.looks[0].blocks));
        assert!(sequential.looks.len() > 3 && (compared.level - (1.0 - sequential.looks[0].alpha)).abs() < 1e-12);
    }

    #[test]
    fn without_one_all_is_measured() {
        let (compared, sequential) = of(&record(false));
        assert_eq!((sequential.taken as usize, sequential.ended), (sequential.looks.len(), Ended::Planned));
        assert_eq!(
            (compared.workloads[0].comparison.answer, compared.workloads[0].comparison.a.units),
            (Answer::Inconclusive, 60)
        );
    }

    #[test]
    fn a_budget_spends_what_is_left_and_a_stop_does_not() {
        let (compared, sequential) = of(&cut(record(false), 20, true));
        assert_eq!((sequential.ended, sequential.looks.last().unwrap().blocks), (Ended::Budget, 20));
        assert_eq!(sequential.taken as usize, sequential.looks.len());
        assert!(sequential.looks.last().unwrap().alpha > 0.04);
        assert_eq!(compared.workloads[0].comparison.a.units, 20);
        let (compared, sequential) = of(&cut(record(false), 20, false));
        let last = sequential.looks[sequential.taken as usize - 1];
        assert_eq!((sequential.ended, compared.workloads[0].comparison.a.units), (Ended::Stopped, last.blocks));
        assert!(last.blocks < 20);
    }

    /// No difference is shown before a look is due, however large it is.
    #[test]
    fn before_the_first_look_an_open_record_has_values_and_no_answers() {
        let open = cut(record(true), 8, false);
        let (compared, sequential) = of(&open);
        let first = planned_looks(&open.settings, &open.plan)[0].blocks;
        assert!(first > 8);
        assert_eq!((sequential.taken, sequential.ended), (0, Ended::Stopped));
        assert_eq!(sequential.looks, planned_looks(&open.settings, &open.plan), "none is left out");
        let workload = &compared.workloads[0].comparison;
        assert_eq!((workload.answer, workload.method, workload.a.units), (Answer::Inconclusive, Method::None, 8));
        assert_eq!((workload.p, workload.ratio, workload.shift, workload.detectable), (None, None, None, None));
        let caution = &workload.cautions[0];
        assert_eq!(caution.what, Caution::FewUnits(FewUnits::NoLook { measured: 8, first_look: first }));
        assert_eq!(compared.workloads[0].details.values[0].len(), 8);
        assert!(concluded(&cut(record(false), 0, false), &comparison::Settings::default()).is_err());
    }

    #[test]
    fn where_there_is_one_look_at_the_end_nothing_is_seen_before() {
        let mut record = record(true);
        let RunKind::Comparison(comparison) = &mut record.head.settings.kind else { panic!() };
        comparison.once = true;
        let (compared, sequential) = of(&cut(record.clone(), 59, false));
        assert_eq!((compared.workloads[0].comparison.answer, sequential.taken), (Answer::Inconclusive, 0));
        let (compared, sequential) = of(&cut(record, 59, true));
        assert_eq!(
            (compared.workloads[0].comparison.answer, sequential.taken),
            (Answer::Faster, 1),
            "the budget ends it"
        );
    }

    /// A workload that always fails does not delay the others, and is listed with its reason.
    #[test]
    fn a_workload_that_fails_on_one_side_throughout_holds_nothing_up() {
        let rate = |_, block| 1_000_003 + 40_000 * u64::from(block * 7 % 11);
        let faster = |_, block| 1_500_003 + 40_000 * u64::from(block * 7 % 11);
        let run = example::Run::new(&["load", "other"]).tasks(&[1]).repeats(60).rate(rate);
        let whole = run.against(faster).record();
        let failing = |blocks: u32| {
            let mut record = whole.clone();
            for attempt in &mut record.attempts {
                let item = &record.plan[attempt.ordinal as usize];
                let fails = item.cell.case.workload == "other" && item.subject == SubjectIndex::B;
                if fails && item.block < blocks {
                    attempt.outcome = Some(Outcome::Exited { status: 3, stderr: String::new() });
                }
            }
            of(&record)
        };
        let (compared, sequential) = failing(60);
        assert_eq!((sequential.taken, sequential.ended, compared.workloads.len()), (1, Ended::Settled, 1));
        let [other] = &compared.unmatched[..] else { panic!("{:?}", compared.unmatched) };
        let cause = FailureCause::Ended { outcome: Outcome::Exited { status: 3, stderr: String::new() } };
        let failure = Some(Failure { block: Some(0), cause });
        assert_eq!(other.reason, UnmatchedReason::NoValue { side: Letter::B, failure });
        let (compared, sequential) = failing(sequential.looks[0].blocks - 1);
        assert!(sequential.taken > 1, "one that came back is waited for: {sequential:?}");
        let answers = compared.workloads.iter().map(|ComparedWorkload { comparison, .. }| {
            (comparison.name.as_str(), comparison.answer, comparison.inconclusive)
        });
        let expected =
            [("load:base", Answer::Faster, None), ("other:base", Answer::Inconclusive, Some(Inconclusive::Failures))];
        assert_eq!(answers.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_run_without_sides_is_none() {
        let record = example::Run::new(&["load"]).record();
        assert_eq!(concluded(&record, &comparison::Settings::default()), Err(ComparisonError::NoSides(1)));
    }
}
