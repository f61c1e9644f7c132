//! Simulated comparisons: false-positive rate with equal sides, power, and the detectable
//! difference.

use crate::noise::{Noise, SHAPES, Shape};
use faultline_record::direction::Direction;
use faultline_stats::two_sample::{Boot, Run, Samples, Settings, Workload, compare};
use faultline_stats::workload_comparison::{Answer, Bounded, SuiteComparison, Unit, WorkloadComparison};

/// Fewer bootstrap draws than by default, because there are thousands of comparisons.
const SETTINGS: Settings = Settings { level: 0.95, margin: 0.02, assume_quiet: false, seed: 1, resamples: 400 };

/// The minimum number of draws for the level.
const FEWEST_DRAWS: Settings = Settings { resamples: 1, ..SETTINGS };

/// No draws, for tests that do not use bootstrap intervals.
const NO_DRAWS: Settings = Settings { resamples: 0, ..SETTINGS };

/// Structure of a side's values.
#[derive(Debug, Clone, Copy)]
enum Design {
    /// Runs of one boot that both sides share.
    Runs(usize),
    /// Boots of 3 runs of 4 intervals.
    Boots(usize),
    /// Blocks with a run of each side, in one boot.
    Blocks(usize),
}

const DESIGNS: [Design; 5] =
    [Design::Runs(12), Design::Runs(20), Design::Boots(3), Design::Boots(10), Design::Blocks(20)];

/// Two sides around 100. Units have the distribution `shape` and the deviation `noise`, in random
/// order; the second side's are larger by the factor `ratio`.
fn workload(random: &mut Noise, shape: Shape, design: Design, noise: f64, ratio: f64) -> Workload {
    let (Design::Runs(n) | Design::Boots(n) | Design::Blocks(n)) = design;
    let series = random.series(shape, 2 * n);
    let mut first: Vec<bool> = (0..2 * n).map(|i| i % 2 == 0).collect();
    match design {
        Design::Blocks(_) => first.chunks_mut(2).for_each(|block| random.shuffle(block)),
        Design::Runs(_) | Design::Boots(_) => random.shuffle(&mut first),
    }
    let mut sides = [Vec::new(), Vec::new()];
    for (time, (value, first)) in series.iter().zip(first).enumerate() {
        let level = 100.0 * (noise * value).exp() * if first { 1.0 } else { ratio };
        sides[usize::from(!first)].push((time as u64, level));
    }
    let [a, b] = sides.map(|units| side(random, &units, design));
    Workload { name: "load".to_owned(), unit: "op/s".to_owned(), direction: Direction::Higher, a, b }
}

fn side(random: &mut Noise, units: &[(u64, f64)], design: Design) -> Samples {
    let run = |(time, level): (u64, f64), random: &mut Noise, intervals: usize| Run {
        order: Some(time),
        block: matches!(design, Design::Blocks(_)).then_some(time as u32 / 2),
        intervals: (0..intervals).map(|_| level * (0.002 * random.normal()).exp()).collect(),
    };
    let boots = match design {
        Design::Runs(_) | Design::Blocks(_) => {
            vec![Boot { id: Some("shared".to_owned()), runs: units.iter().map(|&unit| run(unit, random, 1)).collect() }]
        }
        Design::Boots(_) => units
            .iter()
            .map(|&(time, level)| Boot {
                id: Some(time.to_string()),
                runs: (0..3).map(|_| run((time, level * (0.005 * random.normal()).exp()), random, 4)).collect(),
            })
            .collect(),
    };
    Samples { boots, ..Samples::default() }
}

fn excludes_one(interval: Option<Bounded>) -> bool {
    interval.is_some_and(|interval| interval.low > 1.0 || interval.high < 1.0)
}

fn differs(comparison: &WorkloadComparison) -> bool {
    matches!(comparison.answer, Answer::Faster | Answer::Slower)
}

fn suite(random: &mut Noise, shape: Shape, design: Design, workloads: usize) -> SuiteComparison {
    let all: Vec<Workload> = (0..workloads).map(|_| workload(random, shape, design, 0.02, 1.0)).collect();
    // Several workloads require more draws than one.
    let settings = if workloads > 1 { FEWEST_DRAWS } else { SETTINGS };
    compare(&all, &settings).unwrap()
}

/// For `trials` suites of `workloads` equal sides, with the designs in turn: suites with a false
/// answer, with a test interval that excludes equality, and with such a bootstrap interval.
fn false_alarms(seed: u64, shape: Shape, designs: &[Design], workloads: usize, trials: usize) -> [f64; 3] {
    let mut random = Noise::new(seed);
    let mut found = [0; 3];
    for trial in 0..trials {
        let suite = suite(&mut random, shape, designs[trial % designs.len()], workloads);
        let any = |test: fn(&WorkloadComparison) -> bool| u32::from(suite.workloads.iter().any(test));
        found[0] += any(differs);
        found[1] += any(|comparison| excludes_one(comparison.ratio));
        found[2] += any(|comparison| excludes_one(comparison.ratio_of_medians));
    }
    found.map(|count| f64::from(count) / trials as f64)
}

/// Asserts that no rate is above `allowed`.
fn check_false_alarms(name: &str, rates: [f64; 3], allowed: f64) {
    println!("{name}: answer {:.4}, interval {:.4}, medians {:.4}", rates[0], rates[1], rates[2]);
    assert!(rates.iter().all(|&rate| rate <= allowed), "{name}: above {allowed}: {rates:?}");
}

#[test]
fn equal_sides_hardly_ever_differ() {
    for shape in SHAPES {
        check_false_alarms(&format!("{shape:?}"), false_alarms(1, shape, &DESIGNS, 1, 500), 0.05);
    }
}

#[test]
fn equal_suites_hardly_ever_differ_anywhere() {
    for shape in SHAPES {
        check_false_alarms(&format!("6 × {shape:?}"), false_alarms(2, shape, &DESIGNS, 6, 500), 0.05);
    }
}

/// Each design separately, with enough trials that chance is small compared with the limit: two and
/// a half standard deviations of the count.
#[test]
#[ignore = "minutes"]
fn equal_sides_differ_at_the_stated_rate_at_most() {
    let trials = 10_000;
    let allowed = 0.05 + 2.5 * (0.05f64 * 0.95 / trials as f64).sqrt();
    for shape in SHAPES {
        for design in DESIGNS {
            check_false_alarms(
                &format!("{shape:?}, {design:?}"),
                false_alarms(3, shape, &[design], 1, trials),
                allowed,
            );
        }
    }
}

/// A margin of equality that 20 runs or blocks per side are enough for, with noise of 2 %.
const MARGIN: f64 = 0.03;

/// A change just outside it.
const BEYOND: f64 = 1.0 + MARGIN + 0.0001;

/// For `trials` suites of `workloads` with this true ratio, with the designs in turn: suites in
/// which any workload is called equal, or different within the margin.
fn equalities(seed: u64, shape: Shape, designs: &[Design], ratio: f64, workloads: usize, trials: usize) -> f64 {
    let mut random = Noise::new(seed);
    let within = |suite: &SuiteComparison| suite.workloads.iter().any(|workload| workload.within_margin);
    let found = (0..trials).filter(|trial| {
        let design = designs[trial % designs.len()];
        let all: Vec<Workload> = (0..workloads).map(|_| workload(&mut random, shape, design, 0.02, ratio)).collect();
        within(&compare(&all, &Settings { margin: MARGIN, ..NO_DRAWS }).unwrap())
    });
    found.count() as f64 / trials as f64
}

#[test]
fn sides_that_differ_by_more_than_the_margin_are_hardly_ever_equal() {
    for shape in SHAPES {
        for (ratio, workloads) in [(BEYOND, 1), (1.0 / BEYOND, 3)] {
            let rate = equalities(6, shape, &DESIGNS, ratio, workloads, 500);
            println!("{workloads} × {shape:?}, true ratio {ratio:.4}: equal in {rate:.4}");
            assert!(rate <= 0.05, "{shape:?}, {workloads} workloads: {rate}");
        }
    }
}

/// Equal sides are reported as equal.
#[test]
fn equal_sides_are_called_equal_where_the_noise_allows_it() {
    for design in [Design::Runs(20), Design::Blocks(20)] {
        let rate = equalities(7, Shape::Normal, &[design], 1.0, 1, 500);
        println!("{design:?}: equal in {rate:.3}");
        assert!(rate >= 0.95, "{design:?}: {rate}");
    }
}

/// Each design separately, with enough trials that chance is small compared with the limit: two and
/// a half standard deviations of the count.
#[test]
#[ignore = "minutes"]
fn sides_beyond_the_margin_are_equal_at_the_stated_rate_at_most() {
    let trials = 10_000;
    let allowed = 0.05 + 2.5 * (0.05f64 * 0.95 / trials as f64).sqrt();
    for shape in SHAPES {
        for design in DESIGNS {
            let rate = equalities(8, shape, &[design], BEYOND, 1, trials);
            println!("{shape:?}, {design:?}: equal in {rate:.4}");
            assert!(rate <= allowed, "{shape:?}, {design:?}: {rate}");
        }
    }
}

fn power(seed: u64, noise: f64, ratio: f64, design: Design, trials: u32) -> f64 {
    let mut random = Noise::new(seed);
    let found = (0..trials).filter(|_| {
        let workload = workload(&mut random, Shape::Normal, design, noise, ratio);
        let suite = compare(&[workload], &NO_DRAWS).unwrap();
        suite.workloads[0].answer == if ratio > 1.0 { Answer::Faster } else { Answer::Slower }
    });
    found.count() as f64 / f64::from(trials)
}

#[test]
fn two_percent_are_found_at_a_noise_of_two_percent() {
    for (ratio, design) in [(1.02, Design::Runs(20)), (1.0 / 1.02, Design::Runs(20)), (1.02, Design::Blocks(20))] {
        let power = power(1, 0.02, ratio, design, 1000);
        println!("ratio {ratio:.4}, {design:?}: found in {power:.3}");
        assert!(power >= 0.80, "{power}");
    }
}

/// The shift in logarithms that is actually found with a power of 0.8, by bisection with the same
/// noise for every shift.
fn true_detectable(noise: f64, design: Design) -> f64 {
    let (mut low, mut high) = (0.0, 8.0 * noise);
    for _ in 0..7 {
        let middle = 0.5 * (low + high);
        if power(2, noise, f64::exp(middle), design, 600) < 0.8 { low = middle } else { high = middle }
    }
    0.5 * (low + high)
}

#[test]
fn what_is_called_detectable_is_right_within_a_fifth() {
    for design in [Design::Runs(20), Design::Runs(12), Design::Boots(10), Design::Blocks(12)] {
        let mut random = Noise::new(3);
        let stated = (0..200).map(|_| {
            let workload = workload(&mut random, Shape::Normal, design, 0.02, 1.0);
            compare(&[workload], &NO_DRAWS).unwrap().workloads[0].detectable.unwrap().ln()
        });
        let stated = stated.sum::<f64>() / 200.0;
        let truth = true_detectable(0.02, design);
        println!("{design:?}: stated {stated:.4}, true {truth:.4}");
        assert!((stated / truth - 1.0).abs() < 0.2, "{design:?}: {stated} stated, {truth} true");
    }
}

#[test]
fn intervals_cover_the_true_ratio() {
    for (shape, design) in [
        (Shape::Normal, Design::Runs(20)),
        (Shape::HeavyTailed, Design::Runs(12)),
        (Shape::Normal, Design::Boots(3)),
        (Shape::Drifting, Design::Blocks(20)),
        (Shape::HeavyTailed, Design::Blocks(20)),
    ] {
        let mut random = Noise::new(4);
        let hits = (0..1000).filter(|_| {
            let workload = workload(&mut random, shape, design, 0.02, 1.1);
            let ratio = compare(&[workload], &NO_DRAWS).unwrap().workloads[0].ratio.unwrap();
            ratio.low <= 1.1 && 1.1 <= ratio.high
        });
        let coverage = hits.count() as f64 / 1000.0;
        println!("{shape:?}, {design:?}: covered in {coverage:.3}");
        assert!(coverage >= 0.935, "{shape:?}, {design:?}: {coverage}");
    }
}

#[test]
fn boots_are_the_units_whatever_runs_within_them_say() {
    let mut random = Noise::new(5);
    let workload = workload(&mut random, Shape::BimodalByBoot, Design::Boots(10), 0.02, 1.0);
    let comparison = compare(&[workload], &NO_DRAWS).unwrap().workloads.remove(0);
    assert_eq!(
        (comparison.independent, comparison.a.units, comparison.a.runs, comparison.a.intervals),
        (Unit::Boot, 10, 30, 120)
    );
}
