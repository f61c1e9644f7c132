//! What the raw values of a source can tell of its improvements: an interval for each, and answers corrected for all of them.

use super::claims::{Range, ranges};
use super::improvement::{Improvement, Measured, improvements};
use super::raw::Metric;
use super::selection::{UnknownName, Wanted, sources_of};
use super::sources::{Definition, Source};
use faultline_model::said::Said;
use faultline_model::workload_comparison::{Answer, Bounded, Caution, Method, SuiteComparison, WorkloadComparison};
use faultline_report::worded_cautions;
use faultline_stats::two_sample::{Samples, Settings, Workload, compare};
use serde::Serialize;

/// What an interval of two values a side covers: of the six orders in which two and two can come, the two that part the sides lie outside.
const LEVEL_OF_TWO: f64 = 2.0 / 3.0;

/// A source's improvements and what its raw values can tell of them.
#[derive(Debug, Serialize)]
pub(crate) struct SourceEstimates {
    #[serde(flatten)]
    pub source: Source,
    /// What its author means by an improvement.
    #[serde(skip)]
    pub improvement_as: Definition,
    /// Familywise confidence level of the source's tests. `None` if nothing could be tested.
    pub level_ratio: Option<f64>,
    /// Number of tests that the answers are corrected for.
    pub tests: usize,
    /// Every range that its author claims, over all tests that it covers, whichever were asked for.
    pub ranges: Vec<Range>,
    /// The improvements that were asked for.
    pub rows: Vec<Estimated>,
}

/// An improvement, and what a test made of its raw values.
#[derive(Debug, Serialize)]
pub(crate) struct Estimated {
    #[serde(flatten)]
    pub improvement: Improvement,
    /// What its author means by an improvement.
    pub improvement_as: Definition,
    /// The improvement by that definition, of the means.
    pub improvement_percent: Option<f64>,
    /// Its interval, this improvement taken by itself.
    pub interval: Option<Interval>,
    /// Why there is none.
    pub no_interval: Option<String>,
    /// What the raw values say, all of the source's taken together.
    pub judgement: Option<Judgement>,
    /// What may make interval and judgement lie.
    pub cautions: Vec<Said<Caution>>,
}

/// Where the improvement lies.
#[derive(Debug, Serialize)]
pub(crate) struct Interval {
    /// The test's own estimate, which isn't the ratio of the means.
    pub estimate_percent: f64,
    pub low_percent: f64,
    pub high_percent: f64,
    /// Share of such intervals that enclose the true improvement.
    pub level_ratio: f64,
    /// The test that it belongs to.
    pub method: Method,
}

/// The answer.
#[derive(Debug, Serialize)]
pub(crate) struct Judgement {
    /// Corrected for all tests of the source.
    pub answer: Answer,
    /// What it would be if there were no other test. None if the values allow none at that level.
    pub answer_alone: Option<Answer>,
    /// The test that decided; none of them if there are too few values for so many tests.
    pub method: Method,
    /// Chance of a difference as great between equal sides, taken by itself.
    pub p: Option<f64>,
    /// The same, corrected.
    pub p_corrected: Option<f64>,
}

/// What the test makes of an improvement's raw values.
struct Tested {
    /// As one of all of its source.
    among: WorkloadComparison,
    /// As if it were the only one, at the highest level up to the source's at which its values allow an interval.
    alone: WorkloadComparison,
}

/// The sources in which a source's or test's name contains `name`, with those tests; all without one.
///
/// An improvement that can be asked for is of a rate or a wall-clock time with a value on both sides: what the authors speak of when they claim one. A
/// source's improvements are tested all together, whichever were asked for: the answer doesn't depend on who looks.
pub(crate) fn estimates(name: Option<&str>) -> Result<Vec<SourceEstimates>, UnknownName> {
    let all: Vec<Improvement> = improvements()
        .into_iter()
        .filter(|i| matches!(i.metric, Metric::Rate | Metric::Real) && i.before.is_some() && i.after.is_some())
        .collect();
    let wanted = Wanted::new(name);
    let meant: Vec<Improvement> = all.iter().filter(|i| is_wanted(i, &wanted)).cloned().collect();
    if meant.is_empty() {
        return Err(UnknownName::new("comparisons", name, &all, &[]));
    }
    let of_source = |source: Source| {
        let improvements = all.iter().filter(|i| i.subject.source == source.name).cloned().collect();
        Some(of_source(source, source.definition?, improvements, &wanted))
    };
    Ok(sources_of(&meant, &[]).into_iter().filter_map(of_source).collect())
}

fn is_wanted(improvement: &Improvement, wanted: &Wanted) -> bool {
    wanted.holds(improvement.subject.source, &improvement.subject.test)
}

/// `improvements`: all of the source.
fn of_source(
    source: Source,
    improvement_as: Definition,
    improvements: Vec<Improvement>,
    wanted: &Wanted,
) -> SourceEstimates {
    let claimed = improvements.iter().filter_map(|i| {
        let claim = i.claim.as_ref()?;
        Some((i.subject.load.as_str(), claim, i.percent(claim.definition)?))
    });
    let ranges = ranges(claimed);
    let workloads: Vec<Workload> = improvements.iter().filter_map(workload).collect();
    let suite = together(&workloads);
    let level_ratio = suite.as_ref().map(|suite| suite.level);
    let mut among = suite.into_iter().flat_map(|suite| suite.workloads);
    let rows = improvements.into_iter().filter_map(|improvement| {
        let tested = workload(&improvement).and_then(|workload| Some((among.next()?, workload)));
        is_wanted(&improvement, wanted).then(|| {
            let tested = tested.map(|(among, workload)| Tested { among, alone: alone(&workload) });
            estimated(improvement, improvement_as, tested.zip(level_ratio))
        })
    });
    SourceEstimates { source, improvement_as, level_ratio, tests: workloads.len(), ranges, rows: rows.collect() }
}

/// The raw values of an improvement with repeats on both sides: two or more each. The sources tell neither boots nor the order of the repeats.
fn workload(improvement: &Improvement) -> Option<Workload> {
    let (before, after) = (&improvement.before.as_ref()?.repeats, &improvement.after.as_ref()?.repeats);
    let subject = &improvement.subject;
    (before.len().min(after.len()) > 1).then(|| Workload {
        name: format!("{} on {}, {}", subject.test, subject.machine, subject.load_and_note()),
        unit: improvement.unit.clone(),
        direction: improvement.metric.direction(),
        a: Samples::of_values(before),
        b: Samples::of_values(after),
    })
}

/// The sources' machines are taken for quiet: nothing is known of the order of their runs.
fn settings() -> Settings {
    Settings { assume_quiet: true, ..Settings::default() }
}

/// All workloads of a source as one suite, corrected for their number; None without any.
fn together(workloads: &[Workload]) -> Option<SuiteComparison> {
    let compared = || compare(workloads, &settings()).expect("values of embedded files, read by the tests");
    (!workloads.is_empty()).then(compared)
}

/// A workload as if there were no other, at the usual level; where its values allow no interval at that, at the one that two values a side allow.
fn alone(workload: &Workload) -> WorkloadComparison {
    let at = |settings: Settings| {
        let suite = compare(std::slice::from_ref(workload), &settings).expect("one of a suite that could be compared");
        suite.workloads.into_iter().next().expect("as many as were given")
    };
    let usual = at(settings());
    if usual.ratio.is_some() { usual } else { at(Settings { level: LEVEL_OF_TWO, ..settings() }) }
}

/// `tested`: with the source's level.
fn estimated(improvement: Improvement, improvement_as: Definition, tested: Option<(Tested, f64)>) -> Estimated {
    let interval = tested.as_ref().and_then(|(tested, _)| interval(&tested.alone, improvement_as));
    Estimated {
        improvement_as,
        improvement_percent: improvement.percent(improvement_as),
        no_interval: interval.is_none().then(|| missing(&improvement)),
        interval,
        judgement: tested.as_ref().map(|(tested, level)| judgement(tested, *level)),
        cautions: tested.map(|(tested, _)| cautions(tested)).unwrap_or_default(),
        improvement,
    }
}

/// The ratio's interval as one of the improvement: every definition rises or falls with the ratio throughout.
fn interval(tested: &WorkloadComparison, definition: Definition) -> Option<Interval> {
    let Bounded { value, low, high, level } = tested.ratio?;
    let [value, low, high] = [value, low, high].map(|ratio| definition.percent(ratio, tested.direction));
    Some(Interval {
        estimate_percent: value,
        low_percent: low.min(high),
        high_percent: low.max(high),
        level_ratio: level,
        method: tested.method,
    })
}

fn missing(improvement: &Improvement) -> String {
    let n = |side: &Option<Measured>| side.as_ref().map_or(0, |side| side.n);
    match (n(&improvement.before), n(&improvement.after)) {
        (1, 1) => "one value each".to_owned(),
        (1, _) => "one value before".to_owned(),
        (_, 1) => "one value after".to_owned(),
        (before, after) => format!("{before} and {after} values allow none"),
    }
}

fn judgement(Tested { among, alone }: &Tested, level: f64) -> Judgement {
    let at_the_same_level = alone.ratio.is_some_and(|ratio| ratio.level >= level);
    Judgement {
        answer: among.answer,
        answer_alone: at_the_same_level.then_some(alone.answer),
        method: among.method,
        p: alone.p,
        p_corrected: among.p_corrected,
    }
}

/// Those of the answer, and what those of the interval add.
fn cautions(Tested { among, alone }: Tested) -> Vec<Said<Caution>> {
    let mut cautions = among.cautions;
    let added: Vec<Said<Caution>> = alone.cautions.into_iter().filter(|caution| !cautions.contains(caution)).collect();
    cautions.extend(added);
    worded_cautions(cautions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claims::Agreement;
    use faultline_model::direction::Direction;

    fn pair(before: &[f64], after: &[f64]) -> Workload {
        Workload {
            name: "build".to_owned(),
            unit: "s".to_owned(),
            direction: Direction::Lower,
            a: Samples::of_values(before),
            b: Samples::of_values(after),
        }
    }

    #[test]
    fn two_values_a_side_have_the_interval_of_their_ratios_and_no_answer() {
        let pair = pair(&[8.0, 10.0], &[4.0, 5.0]);
        assert_eq!(together(std::slice::from_ref(&pair)).unwrap().workloads[0].answer, Answer::Inconclusive);
        let ratio = alone(&pair).ratio.unwrap();
        assert!((ratio.low - 0.4).abs() < 1e-12 && (ratio.high - 0.625).abs() < 1e-12, "{ratio:?}");
        assert_eq!(ratio.level, LEVEL_OF_TWO);
    }

    #[test]
    fn three_values_a_side_have_an_interval_of_their_own_even_in_a_large_suite() {
        let pairs = vec![pair(&[8.0, 8.1, 8.2], &[4.0, 4.1, 4.2]); 14];
        let suite = together(&pairs).unwrap();
        assert!(suite.workloads.iter().all(|one| one.answer == Answer::Inconclusive && one.ratio.is_none()));
        let alone = alone(&pairs[0]);
        assert_eq!((alone.method, alone.answer), (Method::Welch, Answer::Faster));
        assert_eq!(alone.ratio.unwrap().level, suite.level);
    }

    /// Of a pair whose test has this ratio, its lower and its upper end. Rounded: `[estimate, low, high]`.
    fn ends(direction: Direction, definition: Definition, [value, low, high]: [f64; 3]) -> [f64; 3] {
        let mut tested = alone(&pair(&[8.0, 8.1, 8.2], &[4.0, 4.1, 4.2]));
        (tested.direction, tested.ratio) = (direction, Some(Bounded { value, low, high, level: 0.95 }));
        let found = interval(&tested, definition).unwrap();
        [found.estimate_percent, found.low_percent, found.high_percent].map(f64::round)
    }

    #[test]
    fn an_interval_is_one_of_the_authors_improvement() {
        assert_eq!(ends(Direction::Higher, Definition::Gain, [1.2, 1.1, 1.3]), [20.0, 10.0, 30.0]);
        assert_eq!(ends(Direction::Lower, Definition::Gain, [0.8, 0.5, 1.0]), [25.0, 0.0, 100.0]);
        assert_eq!(ends(Direction::Lower, Definition::Saved, [0.8, 0.7, 0.9]), [20.0, 10.0, 30.0]);
    }

    #[test]
    fn what_has_repeats_on_both_sides_is_tested() {
        let all = estimates(None).unwrap();
        let counted: Vec<_> = all.iter().map(|of| (of.source.name, of.rows.len(), of.tests)).collect();
        assert_eq!(
            counted,
            [("dragonfly-2011-vm-token", 5, 2), ("dragonfly-5.4-vs-5.6", 14, 14), ("openbsd-percpu-page-cache", 9, 0)]
        );
        for row in all.iter().flat_map(|of| &of.rows) {
            let repeated = row.improvement.sides().all(|side| side.n > 1);
            assert_eq!((row.interval.is_some(), row.judgement.is_some()), (repeated, repeated), "{row:?}");
            assert_eq!(row.no_interval.is_none(), repeated, "a row without an interval says why: {row:?}");
        }
    }

    #[test]
    fn a_name_narrows_what_is_shown_and_not_what_is_tested() {
        let all = &estimates(Some("dragonfly-5.4")).unwrap()[0];
        for name in ["zero-fill", "native-kernel-build", "self-exec-static-shared"] {
            let some = &estimates(Some(name)).unwrap()[0];
            assert_eq!((some.rows.len(), some.tests), (2, all.tests), "{name}");
            for row in &some.rows {
                let same = all.rows.iter().find(|other| other.improvement == row.improvement).unwrap();
                assert_eq!(serde_json::to_value(row).unwrap(), serde_json::to_value(same).unwrap());
            }
        }
    }

    #[test]
    fn what_was_never_compared_is_unknown() {
        let unknown = estimates(Some("openbsd-2019")).unwrap_err();
        assert_eq!(unknown.what, "comparisons");
        let sources = unknown.known.iter().filter(|name| crate::sources::SOURCES.iter().any(|s| s.name == **name));
        assert_eq!(sources.count(), 3);
        assert!(!unknown.known.contains(&"path-stat-one-element".to_owned()), "{unknown:?}");
    }

    #[test]
    fn an_answer_at_a_lower_level_is_none() {
        let alone = alone(&pair(&[8.0, 8.1, 8.2], &[4.0, 4.1, 4.2]));
        let tested = Tested { among: alone.clone(), alone };
        assert_eq!(judgement(&tested, 0.95).answer_alone, Some(Answer::Faster));
        assert_eq!(judgement(&tested, 0.99).answer_alone, None);
    }

    #[test]
    fn a_range_is_about_every_test_that_it_covers() {
        let ends = |of: &SourceEstimates| -> Vec<[f64; 2]> {
            of.ranges.iter().map(|r| [r.lowest_percent, r.highest_percent].map(|p| (p * 10.0).round() / 10.0)).collect()
        };
        let all = &estimates(Some("openbsd")).unwrap()[0];
        assert_eq!(ends(all), [[6.9, 16.5], [18.5, 32.3]]);
        assert!(all.ranges.iter().all(|range| range.agreements == [Agreement::AsClaimed, Agreement::Differs]));
        let one = &estimates(Some("libLLVM")).unwrap()[0];
        assert!(one.rows.len() < all.rows.len());
        assert_eq!(one.ranges, all.ranges);
    }
}
