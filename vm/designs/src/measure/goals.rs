//! The goals of our own allocator relative to its peers in the same run, and whether it reached them.

use super::benchmark::Metric;
use super::rounds::Leavings;
use super::samples::{Samples, Spread};

const OURS: &str = "ours";
const LLFREE: &str = "llfree";
const BUDDY: &str = "spin-buddy";

/// A goal for the ratio of our time to a peer's.
struct Goal {
    words: &'static str,
    metrics: &'static [Metric],
    threads: usize,
    peer: &'static str,
    most: f64,
}

const fn beside_llfree(words: &'static str, metrics: &'static [Metric], threads: usize, most: f64) -> Goal {
    Goal { words, metrics, threads, peer: LLFREE, most }
}

const BULK: &[Metric] = &[Metric::BulkGet, Metric::BulkPut];
const NEARLY_FULL: &[Metric] = &[Metric::NearlyFullGet, Metric::NearlyFullPut];
const HUGE_BULK: &[Metric] = &[Metric::HugeBulkGet, Metric::HugeBulkPut];
const HUGE_RAND: &[Metric] = &[Metric::HugeRandGet, Metric::HugeRandPut];

const GOALS: &[Goal] = &[
    beside_llfree("repeat", &[Metric::Repeat], 1, 0.3),
    beside_llfree("repeat", &[Metric::Repeat], 2, 0.3),
    Goal { words: "repeat", metrics: &[Metric::Repeat], threads: 1, peer: BUDDY, most: 0.25 },
    Goal { words: "repeat", metrics: &[Metric::Repeat], threads: 2, peer: BUDDY, most: 0.25 },
    beside_llfree("bulk get and put", BULK, 1, 0.35),
    beside_llfree("bulk get and put", BULK, 2, 0.35),
    beside_llfree("rand put", &[Metric::RandPut], 1, 0.65),
    beside_llfree("rand put", &[Metric::RandPut], 2, 0.65),
    beside_llfree("fault", &[Metric::Fault], 1, 0.35),
    beside_llfree("fault", &[Metric::Fault], 2, 0.35),
    beside_llfree("get and put, 2 % free", NEARLY_FULL, 1, 1.0),
    beside_llfree("get and put, 2 % free", NEARLY_FULL, 2, 1.0),
    beside_llfree("get, 2 % free", &[Metric::NearlyFullGet], 1, 1.0),
    beside_llfree("get, 2 % free", &[Metric::NearlyFullGet], 2, 1.0),
    beside_llfree("huge repeat", &[Metric::HugeRepeat], 1, 1.0),
    beside_llfree("huge repeat", &[Metric::HugeRepeat], 2, 1.0),
    beside_llfree("huge bulk get and put", HUGE_BULK, 1, 1.0),
    beside_llfree("huge bulk get and put", HUGE_BULK, 2, 1.0),
    beside_llfree("huge rand get and put", HUGE_RAND, 1, 1.0),
    beside_llfree("huge rand get and put", HUGE_RAND, 2, 1.0),
    beside_llfree("huge get, 2 % free", &[Metric::HugeNearlyFull], 1, 1.0),
    beside_llfree("huge get, 2 % free", &[Metric::HugeNearlyFull], 2, 1.0),
];

/// The result for each goal, one sentence each.
pub(super) fn verdicts(samples: &Samples, leavings: &[Leavings]) -> Vec<String> {
    let times = GOALS.iter().map(|goal| time_verdict(samples, goal));
    let whole = leavings.iter().flat_map(|left| [LLFREE, BUDDY].map(|peer| whole_verdict(left, peer)));
    times.chain(whole.flatten()).collect()
}

fn time_verdict(samples: &Samples, goal: &Goal) -> String {
    let Goal { words, metrics, threads, peer, most } = goal;
    let name = format!("{words}, {threads} thread{}: at most {most} of {peer}", if *threads == 1 { "" } else { "s" });
    match samples.ratio(OURS, peer, metrics, *threads) {
        None => format!("not measured  {name}"),
        Some(ratio) => {
            let verdict = if ratio.median <= *most { "reached" } else { "MISSED" };
            let (low, high) = (ratio.quarter, ratio.three_quarters);
            format!("{verdict:12}  {name}: {:.2} ({low:.2} to {high:.2}, n = {})", ratio.median, ratio.count)
        }
    }
}

/// None if the run lacks one of the two.
fn whole_verdict(leavings: &Leavings, peer: &str) -> Option<String> {
    let whole = |name: &str| {
        let (_, left) = leavings.iter().find(|(subject, _)| *subject == name)?;
        Spread::of(left.iter().map(|left| left.whole as f64).collect()).map(|spread| spread.median)
    };
    let (ours, theirs) = (whole(OURS)?, whole(peer)?);
    let verdict = if ours >= theirs { "reached" } else { "MISSED" };
    Some(format!("{verdict:12}  whole blocks after mixed runs: at least those of {peer}: {ours} and {theirs}"))
}

#[cfg(test)]
mod tests {
    use super::super::fragmentation::Left;
    use super::*;

    #[test]
    fn a_goal_is_reached_missed_or_not_measured() {
        let mut samples = Samples::default();
        for (subject, ns) in [(OURS, 10.0), (LLFREE, 20.0), (BUDDY, 30.0)] {
            samples.add(subject, Metric::Repeat, 1, 0, ns);
        }
        let verdicts = verdicts(&samples, &[]);
        assert_eq!(verdicts[0], "MISSED        repeat, 1 thread: at most 0.3 of llfree: 0.50 (0.50 to 0.50, n = 1)");
        assert_eq!(verdicts[1], "not measured  repeat, 2 threads: at most 0.3 of llfree");
        assert!(verdicts[2].starts_with("MISSED        repeat, 1 thread: at most 0.25 of spin-buddy: 0.33"));
    }

    #[test]
    fn whole_blocks_are_compared_by_their_medians() {
        let left = |whole| Left { free: 9999, whole, huge: None, refused: 0 };
        let leavings = vec![(OURS, vec![left(5), left(9), left(6)]), (BUDDY, vec![left(7), left(7), left(1)])];
        let verdicts = verdicts(&Samples::default(), &[leavings]);
        assert_eq!(
            verdicts.last().unwrap(),
            "MISSED        whole blocks after mixed runs: at least those of spin-buddy: 6 and 7"
        );
    }
}
