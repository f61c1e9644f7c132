//! Improvements claimed by the authors of published figures, recomputed from the raw values and
//! tested.

use crate::comparison::{Comparison, ComparisonError, Settings, compare_datasets};
use crate::two_sample;
use crate::workload_comparison::{Answer, Bounded};
use faultline_record::dataset::{Dataset, Series};
use faultline_record::direction::Direction;
use serde::Serialize;

/// Coverage of the range of ratios of 2 + 2 values: of the six possible orders, the two that
/// separate the sides lie outside.
const LEVEL_OF_TWO: f64 = 2.0 / 3.0;

/// The measure of a wall-clock time; CPU times are not claimed.
const WALL_CLOCK: &str = "real";

/// An author's definition of an improvement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Definition {
    /// New rate / old rate − 1; for times old / new − 1.
    Gain,
    /// (old − new) / old: the saved share of a time.
    Saved,
}

impl Definition {
    /// The word in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Definition::Gain => "gain",
            Definition::Saved => "saved",
        }
    }

    /// The improvement in percent, if the new value is `ratio` times the old one.
    fn percent(self, ratio: f64, direction: Direction) -> f64 {
        let share = match (self, direction) {
            (Definition::Gain, Direction::Higher) => ratio - 1.0,
            (Definition::Gain, Direction::Lower) => 1.0 / ratio - 1.0,
            (Definition::Saved, _) => 1.0 - ratio,
        };
        share * 100.0
    }
}

/// A claimed improvement of one benchmark.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// Name of the benchmark.
    pub benchmark: String,
    /// Number of tasks.
    pub tasks: Option<u32>,
    /// The measure, if it is not the main one.
    pub measure: Option<String>,
    /// The claim in percent as printed: `13.7`, or `7 to 13` for several benchmarks.
    pub percent: String,
    /// The author's definition of an improvement.
    pub improvement: Definition,
    /// A remark on the claim.
    pub remark: Option<String>,
}

/// Agreement of a recomputed improvement with its claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Agreement {
    /// The value rounds to the claimed value, or lies in the claimed range.
    Reproduced,
    /// Truncated to the printed digits, the value equals the claimed one.
    Truncated,
    /// The values differ.
    Differs,
}

impl Agreement {
    /// The word in tables and files.
    pub fn word(self) -> &'static str {
        match self {
            Agreement::Reproduced => "reproduced",
            Agreement::Truncated => "truncated",
            Agreement::Differs => "differs",
        }
    }
}

impl Claim {
    /// Both ends of the claimed range in percent; equal for a single value. NaN if it is not a
    /// number.
    fn ends(&self) -> [f64; 2] {
        let (low, high) = self.percent.split_once(" to ").unwrap_or((&self.percent, &self.percent));
        [low, high].map(|end| end.parse().unwrap_or(f64::NAN))
    }

    /// Digits after the decimal point.
    pub fn decimals(&self) -> usize {
        let first = self.percent.split(' ').next().unwrap_or_default();
        first.split_once('.').map_or(0, |(_, decimals)| decimals.len())
    }

    fn is_range(&self) -> bool {
        let [low, high] = self.ends();
        low != high
    }

    /// Agreement of a recomputed improvement in percent. The tolerance is half a unit of the last
    /// digit.
    fn agreement(&self, recomputed: f64, [low, high]: [f64; 2]) -> Agreement {
        let unit = 10f64.powi(-(self.decimals() as i32));
        if recomputed >= low - unit / 2.0 && recomputed < high + unit / 2.0 {
            Agreement::Reproduced
        } else if low == high && (recomputed / unit).floor() == (low / unit).round() {
            Agreement::Truncated
        } else {
            Agreement::Differs
        }
    }
}

/// A claim with its recomputed improvement.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: Claim,
    /// Unit of the values.
    pub unit: String,
    /// Means of the old and of the new values.
    pub means: [f64; 2],
    /// Numbers of old and of new values.
    pub n: [usize; 2],
    /// The improvement of the means in percent.
    pub recomputed_percent: f64,
    /// The improvement in percent with the interval of this claim tested alone; `None` with a
    /// single value on a side.
    pub interval: Option<Bounded>,
    /// The answer, corrected for all claims of the comparison; `None` with a single value on a
    /// side.
    pub answer: Option<Answer>,
    /// The answer of this claim tested alone at the same level, if its values allow one.
    pub answer_alone: Option<Answer>,
    /// Agreement of the means with the claim.
    pub agreement: Agreement,
}

/// A claimed range, compared with the improvements of all benchmarks that it covers.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ClaimedRange {
    /// Number of tasks of these benchmarks.
    pub tasks: Option<u32>,
    /// The claim in percent as printed.
    pub percent: String,
    /// Lowest and highest recomputed improvement in percent.
    pub recomputed_percent: [f64; 2],
    /// Agreement of the lower and of the upper end.
    pub agreements: [Agreement; 2],
}

/// The claims about one comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TestedClaims {
    /// Name of the old side.
    pub before: String,
    /// Name of the new side.
    pub after: String,
    /// Familywise confidence level of the answers.
    pub level: f64,
    /// Number of benchmarks that the answers are corrected for.
    pub tests: usize,
    /// The claims.
    pub claims: Vec<TestedClaim>,
    /// The claimed ranges.
    pub ranges: Vec<ClaimedRange>,
}

/// Tests claims about two published sides. The sources state neither boots nor the order of runs,
/// so their machines are assumed to have been quiet. Claims about a benchmark that a side lacks are
/// left out. Fails if the sides have no benchmark in common.
pub fn test_claims(names: [&str; 2], claims: &[Claim], sides: [&Dataset; 2]) -> Result<TestedClaims, ComparisonError> {
    let [a, b] = sides.map(|side| chosen(side, is_claimed));
    let together = compare_datasets(names, &a, &b, &settings(None))?;
    let claims: Vec<TestedClaim> = claims.iter().filter_map(|claim| tested(claim, [&a, &b], &together)).collect();
    Ok(TestedClaims {
        before: names[0].to_owned(),
        after: names[1].to_owned(),
        level: together.level,
        tests: together.workloads.iter().filter(|workload| workload.comparison.p.is_some()).count(),
        ranges: ranges(&claims),
        claims,
    })
}

fn settings(level: Option<f64>) -> Settings {
    let mut two_sample = two_sample::Settings { assume_quiet: true, ..two_sample::Settings::default() };
    two_sample.level = level.unwrap_or(two_sample.level);
    Settings { two_sample, ..Settings::default() }
}

/// True for rates and wall-clock times.
fn is_claimed(series: &Series) -> bool {
    series.measure.as_deref().is_none_or(|measure| measure == WALL_CLOCK)
}

fn chosen(dataset: &Dataset, wanted: impl Fn(&Series) -> bool) -> Dataset {
    Dataset::of(dataset.series.iter().filter(|series| wanted(series)).cloned().collect())
}

fn tested(claim: &Claim, sides: [&Dataset; 2], together: &Comparison) -> Option<TestedClaim> {
    let named = |series: &Series| {
        series.name == claim.benchmark && series.tasks == claim.tasks && series.measure == claim.measure
    };
    let [a, b] = sides.map(|side| chosen(side, named));
    let series = a.series.first()?;
    let direction = series.direction?;
    let values = [&a, &b].map(values);
    let n = [0, 1].map(|side| values[side].len());
    let means = [0, 1].map(|side| values[side].iter().sum::<f64>() / n[side] as f64);
    let percent = |ratio| claim.improvement.percent(ratio, direction);
    let recomputed_percent = Some(percent(means[1] / means[0])).filter(|percent| percent.is_finite())?;
    let alone = |level| compare_datasets(["", ""], &a, &b, &settings(level)).ok()?.workloads.into_iter().next();
    let repeated = n.iter().all(|n| *n > 1);
    let usual = alone(None).filter(|_| repeated);
    let ratio = usual.as_ref().and_then(|usual| usual.comparison.ratio);
    let ratio = ratio.or_else(|| alone(Some(LEVEL_OF_TWO)).filter(|_| repeated)?.comparison.ratio);
    let name = format!("{} {}", claim.benchmark, claim.measure.as_deref().unwrap_or_default());
    let among = together.workloads.iter().find(|workload| {
        workload.comparison.name == name.trim_end() && workload.details.tasks == claim.tasks && repeated
    });
    Some(TestedClaim {
        unit: series.unit.clone(),
        means,
        n,
        recomputed_percent,
        interval: ratio.map(|ratio| improved(ratio, percent)),
        answer: among.map(|among| among.comparison.answer),
        answer_alone: usual.filter(|usual| usual.comparison.ratio.is_some()).map(|usual| usual.comparison.answer),
        agreement: claim.agreement(recomputed_percent, claim.ends()),
        claim: claim.clone(),
    })
}

fn values(dataset: &Dataset) -> Vec<f64> {
    let points = dataset.series.iter().flat_map(|series| &series.points);
    points.flat_map(|point| point.measured.values()).copied().collect()
}

/// An interval of the ratio as one of the improvement: each definition is a monotonic function of
/// the ratio.
fn improved(ratio: Bounded, percent: impl Fn(f64) -> f64) -> Bounded {
    let [value, one, other] = [ratio.value, ratio.low, ratio.high].map(percent);
    Bounded { value, low: one.min(other), high: one.max(other), level: ratio.level }
}

/// The claimed ranges: claims with the same range and number of tasks belong together.
fn ranges(claims: &[TestedClaim]) -> Vec<ClaimedRange> {
    let mut ranges: Vec<ClaimedRange> = Vec::new();
    for tested in claims.iter().filter(|tested| tested.claim.is_range()) {
        let claim = &tested.claim;
        let of = |other: &&TestedClaim| other.claim.percent == claim.percent && other.claim.tasks == claim.tasks;
        if ranges.iter().any(|range| range.percent == claim.percent && range.tasks == claim.tasks) {
            continue;
        }
        let found = || claims.iter().filter(of).map(|tested| tested.recomputed_percent);
        let recomputed_percent = [found().fold(f64::INFINITY, f64::min), found().fold(f64::NEG_INFINITY, f64::max)];
        let ends = claim.ends();
        let agreements = [0, 1].map(|end| claim.agreement(recomputed_percent[end], [ends[end]; 2]));
        ranges.push(ClaimedRange {
            tasks: claim.tasks,
            percent: claim.percent.clone(),
            recomputed_percent,
            agreements,
        });
    }
    ranges
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::dataset::{DataPoint, Measured};

    fn claim(benchmark: &str, percent: &str, improvement: Definition) -> Claim {
        let (benchmark, percent) = (benchmark.to_owned(), percent.to_owned());
        Claim { benchmark, tasks: Some(4), measure: None, percent, improvement, remark: None }
    }

    fn times(benchmarks: &[(&str, &[f64])]) -> Dataset {
        let series = |(name, values): &(&str, &[f64])| Series {
            name: (*name).to_owned(),
            tasks: Some(4),
            measure: None,
            unit: "s".to_owned(),
            direction: Some(Direction::Lower),
            points: values.iter().map(|value| DataPoint::of(Measured::Values(vec![*value]))).collect(),
        };
        Dataset::of(benchmarks.iter().map(series).collect())
    }

    fn test(claims: &[Claim], before: &[(&str, &[f64])], after: &[(&str, &[f64])]) -> TestedClaims {
        test_claims(["old", "new"], claims, [&times(before), &times(after)]).unwrap()
    }

    #[test]
    fn rounding_and_truncation_are_distinguished() {
        let of = |percent: &str, recomputed| {
            let claim = claim("x", percent, Definition::Gain);
            claim.agreement(recomputed, claim.ends())
        };
        assert_eq!([of("18", 18.4), of("18", 18.6)], [Agreement::Reproduced, Agreement::Truncated]);
        assert_eq!([of("18", 19.1), of("18", 17.4)], [Agreement::Differs; 2]);
        assert_eq!([of("9.87", 9.8743), of("9.87", 9.884)], [Agreement::Reproduced, Agreement::Differs]);
        assert_eq!([of("7 to 13", 6.87), of("7 to 13", 13.6)], [Agreement::Reproduced, Agreement::Differs]);
    }

    #[test]
    fn an_interval_is_one_of_the_authors_improvement() {
        let ends = |direction, definition: Definition, [value, low, high]: [f64; 3]| {
            let bounded = improved(Bounded { value, low, high, level: 0.95 }, |r| definition.percent(r, direction));
            [bounded.value, bounded.low, bounded.high].map(f64::round)
        };
        assert_eq!(ends(Direction::Higher, Definition::Gain, [1.2, 1.1, 1.3]), [20.0, 10.0, 30.0]);
        assert_eq!(ends(Direction::Lower, Definition::Gain, [0.8, 0.5, 1.0]), [25.0, 0.0, 100.0]);
        assert_eq!(ends(Direction::Lower, Definition::Saved, [0.8, 0.7, 0.9]), [20.0, 10.0, 30.0]);
    }

    #[test]
    fn two_values_a_side_have_the_range_of_their_ratios_and_no_answer() {
        let found = test(&[claim("x", "50", Definition::Saved)], &[("x", &[8.0, 10.0])], &[("x", &[4.0, 5.0])]);
        let interval = found.claims[0].interval.unwrap();
        assert!((interval.low - 37.5).abs() < 1e-9 && (interval.high - 60.0).abs() < 1e-9, "{interval:?}");
        assert_eq!(interval.level, LEVEL_OF_TWO);
        assert_eq!((found.claims[0].answer, found.claims[0].answer_alone), (Some(Answer::Inconclusive), None));
        assert_eq!(found.claims[0].agreement, Agreement::Reproduced);
    }

    #[test]
    fn an_answer_is_corrected_for_all_benchmarks_and_an_interval_is_not() {
        let names: Vec<String> = (0..14).map(|i| i.to_string()).collect();
        let [old, new] = [[8.0, 8.1, 8.2], [4.0, 4.1, 4.2]]
            .map(|values| names.iter().map(|name| (name.as_str(), values)).collect::<Vec<_>>());
        let [old, new] = [&old, &new].map(|s| s.iter().map(|(n, v)| (*n, &v[..])).collect::<Vec<_>>());
        let found = test(&[claim("3", "97", Definition::Gain)], &old, &new);
        let tested = &found.claims[0];
        assert_eq!((tested.answer, tested.answer_alone), (Some(Answer::Inconclusive), Some(Answer::Faster)));
        assert_eq!(tested.interval.unwrap().level, found.level);
    }

    #[test]
    fn a_single_value_has_no_interval_and_a_range_covers_its_benchmarks() {
        let claims = ["x", "y"].map(|name| claim(name, "7 to 13", Definition::Saved));
        let found = test(&claims, &[("x", &[100.0]), ("y", &[100.0])], &[("x", &[93.1]), ("y", &[83.5])]);
        assert!(found.claims.iter().all(|tested| tested.interval.is_none() && tested.answer.is_none()));
        let [range] = &found.ranges[..] else { panic!("{found:?}") };
        assert_eq!(range.recomputed_percent.map(|percent| (percent * 10.0).round()), [69.0, 165.0]);
        assert_eq!(range.agreements, [Agreement::Reproduced, Agreement::Differs]);
    }
}
