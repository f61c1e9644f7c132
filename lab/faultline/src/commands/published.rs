//! `faultline published`

use crate::arguments::Published;
use crate::failure::Failure;
use crate::{output, places};
use faultline_experiment::stored;
use faultline_literature::{self as published, Judged, Pair, UnknownName};
use faultline_model::record::RunId;
use faultline_model::workload_comparison::WorkloadComparison;
use faultline_report::Format;
use faultline_stats::two_sample::{Samples, Settings, Workload, compare};
use std::path::Path;
use std::process::ExitCode;

/// What an interval of two values a side covers: of the six orders in which two and two can come, the two that part the sides lie outside.
const LEVEL_OF_TWO: f64 = 2.0 / 3.0;

pub(crate) fn published(arguments: &Published, db: Option<&Path>) -> Result<ExitCode, Failure> {
    let format = arguments.format.format;
    let name = arguments.name.as_deref();
    let text = match arguments.beside {
        Some(run) => {
            let summary = faultline_stats::summarise(&stored::load(Some(RunId(run)), &places::found(db)?)?);
            published::beside(&summary, format, &output::style())
        }
        None if arguments.compare => compared(name, format)?,
        None => published::published(name, format, &output::style()).map_err(unknown)?,
    };
    output::print(&text)?;
    Ok(ExitCode::SUCCESS)
}

fn unknown(unknown: UnknownName) -> Failure {
    let known = [unknown.sources, unknown.tests].concat().join(", ");
    Failure::usage(
        format!("no published {} are named '{}'", unknown.what, unknown.name),
        format!("part of one of these: {known}"),
    )
}

/// The literature's comparisons: each source's table is one suite.
fn compared(name: Option<&str>, format: Format) -> Result<String, Failure> {
    let tables: Vec<_> = published::tables(name)
        .map_err(unknown)?
        .into_iter()
        .map(|table| {
            let judged = judge(&table.pairs());
            (table, judged)
        })
        .collect();
    Ok(published::compared(&tables, format, &output::style()))
}

/// What the test makes of pairs; None without any.
fn judge(pairs: &[Pair]) -> Option<Judged> {
    if pairs.is_empty() {
        return None;
    }
    let workloads: Vec<Workload> = pairs.iter().map(workload).collect();
    let suite = compare(&workloads, &Settings::default()).expect("values of embedded files, judged by the tests");
    Some(Judged { suite, alone: workloads.iter().map(alone).collect() })
}

/// Boots and order of the repeats are not known: the sources don't tell.
fn workload(pair: &Pair) -> Workload {
    Workload {
        name: pair.name.clone(),
        unit: pair.unit.clone(),
        direction: pair.direction,
        a: Samples::of_values(&pair.before),
        b: Samples::of_values(&pair.after),
    }
}

/// A workload as if there were no other, at the usual level; where its values allow no interval at that, at the one that two values a side allow.
fn alone(workload: &Workload) -> WorkloadComparison {
    let at = |settings: Settings| {
        let suite = compare(std::slice::from_ref(workload), &settings).expect("one of a suite that could be compared");
        suite.workloads.into_iter().next().expect("as many as were given")
    };
    let usual = at(Settings::default());
    if usual.ratio.is_some() { usual } else { at(Settings { level: LEVEL_OF_TWO, ..Settings::default() }) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::direction::Direction;
    use faultline_model::workload_comparison::{Answer, Method};

    fn pair(before: &[f64], after: &[f64]) -> Pair {
        Pair {
            name: "build".to_owned(),
            unit: "s".to_owned(),
            direction: Direction::Lower,
            before: before.to_vec(),
            after: after.to_vec(),
        }
    }

    #[test]
    fn two_values_a_side_have_the_interval_of_their_ratios_and_no_answer() {
        let judged = judge(&[pair(&[8.0, 10.0], &[4.0, 5.0])]).unwrap();
        assert_eq!(judged.suite.workloads[0].answer, Answer::Undecided);
        let ratio = judged.alone[0].ratio.unwrap();
        assert!((ratio.low - 0.4).abs() < 1e-12 && (ratio.high - 0.625).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.level, LEVEL_OF_TWO);
    }

    #[test]
    fn three_values_a_side_have_an_interval_of_their_own_even_in_a_large_suite() {
        let judged = judge(&vec![pair(&[8.0, 8.1, 8.2], &[4.0, 4.1, 4.2]); 14]).unwrap();
        assert!(judged.suite.workloads.iter().all(|one| one.answer == Answer::Undecided && one.ratio.is_none()));
        for alone in &judged.alone {
            assert_eq!((alone.method, alone.answer), (Method::Welch, Answer::Faster));
            assert_eq!(alone.ratio.unwrap().level, judged.suite.level);
        }
    }

    #[test]
    fn every_pair_of_the_literature_can_be_judged() {
        for table in published::tables(None).unwrap() {
            let pairs = table.pairs();
            let judged = judge(&pairs);
            assert_eq!(judged.map_or(0, |judged| judged.alone.len()), pairs.len());
        }
    }
}
