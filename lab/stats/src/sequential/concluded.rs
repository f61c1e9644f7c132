//! The answers of a live comparison, from its record: its looks are taken again, in their order.

use super::looks::{last_look, looks};
use super::settled::settled;
use crate::compared::{ComparedError, Settings, compared_sides, sides_suite};
use crate::progress::{Standing, standings};
use faultline_model::cell::Cell;
use faultline_model::compared::{Compared, Ended, Look, Sequential};
use faultline_model::plan::PlanItem;
use faultline_model::record::RunRecord;
use faultline_model::setup::SideName;
use std::collections::BTreeSet;

/// Takes the looks for which the record has all blocks, up to the first that settles every workload; the answers are those of the last one taken. The
/// level is that of the comparison in the record.
///
/// A record that isn't settled and was cut short by its budget gets a look at what is there. One that was stopped, or is still under way
/// ([`Ended::Stopped`]), doesn't: who stopped it may have seen how it stood. Only before the first look there is nothing to see.
pub fn concluded(record: &RunRecord, settings: &Settings) -> Result<Compared, ComparedError> {
    let Some(comparison) = &record.settings.comparison else { return Err(ComparedError::NoSides(record.id.0)) };
    let mut settings = *settings;
    settings.compare.level = comparison.level;
    let planned = planned_looks(record);
    let whole = whole_blocks(record);
    let (taken, ended) = taken(record, &planned, whole, |look| {
        Ok(settled(&sides_suite(record, &settings, *look)?, comparison.precision))
    })?;
    let Some(last) = taken.last() else {
        return Err(ComparedError::NothingInCommon { unmatched: vec!["no block is complete".to_owned()] });
    };
    let compared = compared_sides(record, &settings, Some(*last))?;
    let count = taken.len();
    let unspent = if taken.last() == planned.get(count - 1) { &planned[count..] } else { &[] };
    let sequential = Sequential {
        level: comparison.level,
        precision: comparison.precision,
        taken: count as u32,
        looks: [&taken, unspent].concat(),
        ended,
    };
    Ok(Compared { sequential: Some(sequential), ..compared })
}

/// The looks planned for a record: one at the end where none may stop it before, none where it has no sides.
pub fn planned_looks(record: &RunRecord) -> Vec<Look> {
    let blocks = record.settings.repeats;
    match &record.settings.comparison {
        None => Vec::new(),
        Some(comparison) if comparison.precision == 0.0 => vec![Look { blocks, alpha: 1.0 - comparison.level }],
        Some(comparison) => looks(blocks, workloads(record), comparison.level),
    }
}

/// The looks that are taken, and why no more.
fn taken(
    record: &RunRecord,
    planned: &[Look],
    whole: u32,
    mut is_settled: impl FnMut(&Look) -> Result<bool, ComparedError>,
) -> Result<(Vec<Look>, Ended), ComparedError> {
    let within: Vec<Look> = planned.iter().copied().take_while(|look| look.blocks <= whole).collect();
    for (index, look) in within.iter().enumerate() {
        if is_settled(look)? {
            return Ok((within[..=index].to_vec(), Ended::Settled));
        }
    }
    let ended = match record.skipped.is_empty() {
        _ if within.len() == planned.len() => Ended::Planned,
        false => Ended::Budget,
        true => Ended::Stopped,
    };
    let knows_nothing = ended == Ended::Budget || within.is_empty();
    let cut_short = last_look(planned, within.len() as u32, whole).filter(|_| knows_nothing);
    Ok((within.into_iter().chain(cut_short).collect(), ended))
}

/// Pairs of cells.
fn workloads(record: &RunRecord) -> u32 {
    let first = record.plan.iter().filter(|item| item.side == Some(SideName::A));
    first.map(|item| &item.cell).collect::<BTreeSet<&Cell>>().len() as u32
}

/// Blocks from the first on of which every item has ended.
fn whole_blocks(record: &RunRecord) -> u32 {
    let open = |(item, standing): &(&PlanItem, Standing<'_>)| {
        matches!(standing, Standing::Skipped | Standing::Left).then_some(item.block)
    };
    standings(record).iter().filter_map(open).min().unwrap_or(record.settings.repeats)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use faultline_model::comparison::Answer;

    /// The two sides of 60 blocks at most: about alike, or the second one `faster` by the half.
    fn record(faster: bool) -> RunRecord {
        let rate = |_, block| 1_000_003 + 40_000 * u64::from(block * 7 % 11);
        let other = |_, block| 1_000_033 + 40_000 * u64::from(block * 5 % 11);
        let half_more = |_, block| 1_500_003 + 40_000 * u64::from(block * 7 % 11);
        let run = example::Run::new(&["load"]).tasks(&[1]).repeats(60).rate(rate);
        run.against(if faster { half_more } else { other }).record()
    }

    fn cut(mut record: RunRecord, blocks: u32, skip: bool) -> RunRecord {
        let later: Vec<u32> = record.plan.iter().filter(|item| item.block >= blocks).map(|item| item.ordinal).collect();
        record.attempts.retain(|attempt| !later.contains(&attempt.ordinal));
        record.skipped = if skip { later } else { Vec::new() };
        record
    }

    fn of(record: &RunRecord) -> (Compared, Sequential) {
        let compared = concluded(record, &Settings::default()).unwrap();
        let sequential = compared.sequential.clone().unwrap();
        (compared, sequential)
    }

    #[test]
    fn a_great_difference_settles_at_the_first_look() {
        let (compared, sequential) = of(&record(true));
        assert_eq!((sequential.taken, sequential.ended), (1, Ended::Settled));
        let workload = &compared.suite.workloads[0];
        assert_eq!((workload.answer, workload.a.units), (Answer::Faster, sequential.looks[0].blocks));
        assert!(sequential.looks.len() > 3 && (compared.suite.level - (1.0 - sequential.looks[0].alpha)).abs() < 1e-12);
    }

    #[test]
    fn without_one_all_is_measured() {
        let (compared, sequential) = of(&record(false));
        assert_eq!((sequential.taken as usize, sequential.ended), (sequential.looks.len(), Ended::Planned));
        assert_eq!(
            (compared.suite.workloads[0].answer, compared.suite.workloads[0].a.units),
            (Answer::NoDifference, 60)
        );
    }

    #[test]
    fn a_budget_spends_what_is_left_and_a_stop_does_not() {
        let (compared, sequential) = of(&cut(record(false), 20, true));
        assert_eq!((sequential.ended, sequential.looks.last().unwrap().blocks), (Ended::Budget, 20));
        assert_eq!(sequential.taken as usize, sequential.looks.len());
        assert!((sequential.looks.iter().map(|look| look.alpha).sum::<f64>() - 0.05).abs() < 1e-12);
        assert_eq!(compared.suite.workloads[0].a.units, 20);
        let (compared, sequential) = of(&cut(record(false), 20, false));
        let last = sequential.looks[sequential.taken as usize - 1];
        assert_eq!((sequential.ended, compared.suite.workloads[0].a.units), (Ended::Stopped, last.blocks));
        assert!(last.blocks < 20);
    }

    #[test]
    fn before_the_first_look_a_stop_has_seen_nothing() {
        let (_, sequential) = of(&cut(record(false), 4, false));
        assert_eq!((sequential.taken, sequential.ended, sequential.looks[0].blocks), (1, Ended::Stopped, 4));
        assert!(concluded(&cut(record(false), 0, false), &Settings::default()).is_err());
    }

    #[test]
    fn a_run_without_sides_is_none() {
        let record = example::Run::new(&["load"]).record();
        assert_eq!(concluded(&record, &Settings::default()), Err(ComparedError::NoSides(1)));
    }
}
