//! Simulated live comparisons with interim looks: false-positive rate, coverage of intervals,
//! power, and time to the answer.

use crate::noise::{Noise, SHAPES, Shape};
use faultline_record::direction::Direction;
use faultline_stats::comparison::Look;
use faultline_stats::sequential::{looks, settled};
use faultline_stats::two_sample::{Boot, Run, Samples, Settings, Workload, compare};
use faultline_stats::workload_comparison::{Answer, SuiteComparison, WorkloadComparison};

const LEVEL: f64 = 0.95;
const WORKLOADS: u32 = 3;

/// Standard deviation of the logarithms.
const NOISE: f64 = 0.02;

/// Margin of equality, equal to the noise.
const MARGIN: f64 = NOISE;

/// A workload's values in time order; true for the second side.
type Values = Vec<(bool, f64)>;

/// Blocks of two runs, one of each side in random order. The second side is larger by the factor
/// `ratio`.
fn workload(random: &mut Noise, shape: Shape, blocks: u32, ratio: f64) -> Values {
    let series = random.series(shape, 2 * blocks as usize);
    in_blocks(random, &series, ratio)
}

fn in_blocks(random: &mut Noise, series: &[f64], ratio: f64) -> Values {
    let mut values = Values::new();
    for block in series.chunks(2) {
        let second_first = random.below(2) == 1;
        for (value, second) in block.iter().zip([second_first, !second_first]) {
            values.push((second, (NOISE * value).exp() * if second { ratio } else { 1.0 }));
        }
    }
    values
}

/// A side's values, grouped by boot if the noise depends on boots.
fn side(values: &Values, second: bool, shape: Shape, blocks_known: bool) -> Samples {
    let own = values.iter().enumerate().filter(|(_, (side, _))| *side == second);
    let runs = own.map(|(time, &(_, value))| Run {
        order: Some(time as u64),
        block: blocks_known.then_some(time as u32 / 2),
        intervals: vec![value],
    });
    let boots = match shape {
        Shape::BimodalByBoot => {
            runs.map(|run| Boot { id: run.order.map(|order| order.to_string()), runs: vec![run] }).collect()
        }
        _ => vec![Boot { id: Some("shared".to_owned()), runs: runs.collect() }],
    };
    Samples { boots, ..Samples::default() }
}

/// A live comparison of [`WORKLOADS`].
struct Live {
    shape: Shape,
    margin: f64,
    workloads: Vec<Values>,
    /// True if the comparison knows the blocks.
    blocks_known: bool,
}

impl Live {
    fn new(random: &mut Noise, shape: Shape, blocks: u32, ratio: f64) -> Self {
        let blocks_known = true;
        Live {
            shape,
            margin: MARGIN,
            blocks_known,
            workloads: (0..WORKLOADS).map(|_| workload(random, shape, blocks, ratio)).collect(),
        }
    }

    fn at(&self, look: &Look) -> SuiteComparison {
        let seen = |values: &Values| values[..2 * look.blocks as usize].to_vec();
        let workload = |values: &Values| Workload {
            name: "load".to_owned(),
            unit: "op/s".to_owned(),
            direction: Direction::Higher,
            a: side(&seen(values), false, self.shape, self.blocks_known),
            b: side(&seen(values), true, self.shape, self.blocks_known),
        };
        let workloads: Vec<Workload> = self.workloads.iter().map(workload).collect();
        compare(
            &workloads,
            &Settings { level: 1.0 - look.alpha, margin: self.margin, assume_quiet: false, seed: 1, resamples: 0 },
        )
        .unwrap()
    }

    /// The final answers, and the number of blocks.
    fn ended(&self, looks: &[Look]) -> (SuiteComparison, u32) {
        let (last, before) = looks.split_last().unwrap();
        let early = before.iter().map(|look| (self.at(look), look.blocks)).find(|(suite, _)| settled(&suite.workloads));
        early.unwrap_or_else(|| (self.at(last), last.blocks))
    }
}

fn differs(workload: &WorkloadComparison) -> bool {
    matches!(workload.answer, Answer::Faster | Answer::Slower)
}

/// False-positive rates over `trials` comparisons of equal sides: with a stop at the first
/// difference at any look, and with the stopping rule.
fn false_alarms(seed: u64, shape: Shape, blocks: u32, trials: u32) -> [f64; 2] {
    let looks = looks(blocks, WORKLOADS, LEVEL);
    let mut random = Noise::new(seed);
    let mut found = [0; 2];
    for _ in 0..trials {
        let live = Live::new(&mut random, shape, blocks, 1.0);
        found[0] += u32::from(looks.iter().any(|look| live.at(look).workloads.iter().any(differs)));
        found[1] += u32::from(live.ended(&looks).0.workloads.iter().any(differs));
    }
    found.map(|count| f64::from(count) / f64::from(trials))
}

/// Values alternate, each against the one before: a test without blocks takes the remainder for a
/// difference.
#[test]
fn an_order_that_alternates_is_no_difference() {
    let mut random = Noise::new(7);
    let looks = looks(20, 1, LEVEL);
    let mut found = [0; 2];
    for _ in 0..500 {
        let series = random.autoregressive(-0.9, 40);
        let workloads = vec![in_blocks(&mut random, &series, 1.0)];
        let mut live = Live { shape: Shape::Normal, margin: MARGIN, workloads, blocks_known: true };
        for found in &mut found {
            *found += u32::from(looks.iter().any(|look| live.at(look).workloads.iter().any(differs)));
            live.blocks_known = false;
        }
    }
    let [with, without] = found.map(|count| f64::from(count) / 500.0);
    println!("alternating: at any look {with:.4}, without blocks {without:.4}");
    assert!(with <= 0.05 && without > 0.10, "{with} {without}");
}

/// With so few blocks that signed ranks decide at the last look at best, no other test decides
/// instead.
#[test]
fn a_few_blocks_of_an_order_that_alternates_are_no_difference() {
    let mut random = Noise::new(8);
    for blocks in 3..=8 {
        let looks = looks(blocks, 1, LEVEL);
        let mut found = [0; 2];
        for _ in 0..2000 {
            let series = random.autoregressive(-0.9, 2 * blocks as usize);
            let workloads = vec![in_blocks(&mut random, &series, 1.0)];
            let mut live = Live { shape: Shape::Normal, margin: MARGIN, workloads, blocks_known: true };
            for found in &mut found {
                *found += u32::from(looks.iter().any(|look| live.at(look).workloads.iter().any(differs)));
                live.blocks_known = false;
            }
        }
        let [with, without] = found.map(|count| f64::from(count) / 2000.0);
        println!("alternating, {blocks} blocks: {with:.4}, without blocks {without:.4}");
        // Two standard deviations of the count above the level.
        assert!(with <= 0.06 && without > with, "{blocks} blocks: {with}, {without}");
    }
}

fn check_false_alarms(shape: Shape, rates: [f64; 2], allowed: f64) {
    println!("{shape:?}: at any look {:.4}, at the end {:.4}", rates[0], rates[1]);
    assert!(rates.iter().all(|rate| *rate <= allowed), "{shape:?}: {rates:?} above {allowed}");
}

#[test]
fn equal_sides_hardly_ever_differ_at_any_look() {
    for shape in SHAPES {
        check_false_alarms(shape, false_alarms(1, shape, 20, 500), 0.05);
    }
}

#[test]
#[ignore = "minutes"]
fn equal_sides_differ_at_any_look_at_the_stated_rate_at_most() {
    for shape in SHAPES {
        check_false_alarms(shape, false_alarms(2, shape, 60, 10_000), 0.05);
    }
}

/// Shares of `trials` comparisons of up to 20 blocks with this true ratio: those in which any look
/// claims equality or a difference within the margin; and the share of workloads that are equal at
/// the end.
fn equalities(seed: u64, shape: Shape, ratio: f64, trials: u32) -> [f64; 2] {
    let looks = looks(20, WORKLOADS, LEVEL);
    let mut random = Noise::new(seed);
    let (mut at_any_look, mut at_the_end) = (0, 0);
    for _ in 0..trials {
        let live = Live { margin: WIDE_MARGIN, ..Live::new(&mut random, shape, 20, ratio) };
        let within = |look: &Look| live.at(look).workloads.iter().any(|workload| workload.within_margin);
        at_any_look += u32::from(looks.iter().any(within));
        let equal = |workload: &&WorkloadComparison| workload.answer == Answer::Equal;
        at_the_end += live.ended(&looks).0.workloads.iter().filter(equal).count() as u32;
    }
    [f64::from(at_any_look) / f64::from(trials), f64::from(at_the_end) / f64::from(WORKLOADS * trials)]
}

/// A margin that 20 blocks are enough for.
const WIDE_MARGIN: f64 = 0.05;

#[test]
fn sides_beyond_the_margin_are_hardly_ever_equal_at_any_look() {
    for shape in SHAPES {
        let [at_any_look, _] = equalities(9, shape, 1.0 + WIDE_MARGIN + 0.0001, 500);
        println!("{shape:?}: equal at any look {at_any_look:.4}");
        assert!(at_any_look <= 0.05, "{shape:?}: {at_any_look}");
    }
    let [_, at_the_end] = equalities(10, Shape::Normal, 1.0, 200);
    println!("equal sides: {at_the_end:.3} of the workloads are called equal");
    assert!(at_the_end >= 0.9, "{at_the_end}");
}

/// For `trials` comparisons with a true ratio: share of workloads whose final interval covers it,
/// share whose difference is found, and mean number of blocks.
fn followed(seed: u64, shape: Shape, ratio: f64, blocks: u32, trials: u32) -> [f64; 3] {
    let looks = looks(blocks, WORKLOADS, LEVEL);
    let mut random = Noise::new(seed);
    let (mut covered, mut found, mut spent) = (0, 0, 0);
    for _ in 0..trials {
        let (suite, taken) = Live::new(&mut random, shape, blocks, ratio).ended(&looks);
        let covers = |workload: &&WorkloadComparison| {
            workload.ratio.is_some_and(|interval| interval.low <= ratio && ratio <= interval.high)
        };
        covered += suite.workloads.iter().filter(covers).count();
        found += suite.workloads.iter().filter(|workload| workload.answer == Answer::Faster).count();
        spent += taken;
    }
    let of_all = |count: usize| count as f64 / f64::from(WORKLOADS * trials);
    [of_all(covered), of_all(found), f64::from(spent) / f64::from(trials)]
}

#[test]
fn great_differences_end_it_early_and_small_ones_do_not() {
    let first = looks(60, WORKLOADS, LEVEL)[0].blocks;
    let [covered, found, blocks] = followed(3, Shape::Normal, 1.1, 60, 100);
    assert!(covered >= 0.95 && found == 1.0 && blocks < f64::from(first) + 0.1, "{covered} {found} {blocks}");
    let [covered, found, blocks] = followed(4, Shape::Normal, 1.02, 60, 40);
    assert!(covered >= 0.95 && found > 0.95 && blocks < 50.0, "{covered} {found} {blocks}");
}

#[test]
fn intervals_at_the_end_cover_the_true_ratio() {
    for (shape, ratio) in [(Shape::Normal, 1.03), (Shape::HeavyTailed, 1.03), (Shape::BimodalByBoot, 1.0)] {
        let [covered, ..] = followed(5, shape, ratio, 20, 150);
        println!("{shape:?}, ratio {ratio}: covered in {covered:.4}");
        assert!(covered >= 0.95, "{shape:?}: {covered}");
    }
}

/// Prints the table of docs/METHODOLOGY-APPENDIX.md, D.
#[test]
#[ignore = "minutes"]
fn what_is_found_and_when() {
    for shape in SHAPES {
        for deviations in [0.0, 0.5, 0.75, 1.0, 1.5, 2.0, 5.0, 20.0] {
            let ratio = f64::exp(deviations * NOISE);
            let [covered, found, blocks] = followed(6, shape, ratio, 60, 2000);
            println!("{shape:?}, {deviations} deviations: covered {covered:.4}, found {found:.4}, blocks {blocks:.1}");
            assert!(covered >= 0.95, "{shape:?}, {deviations}: {covered}");
            assert!(
                deviations < 5.0 || shape == Shape::HeavyTailed || found == 1.0,
                "{shape:?}, {deviations}: {found}"
            );
        }
    }
}
