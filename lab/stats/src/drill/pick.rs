//! The position within a gap that is expected to tell most, where some positions can't be measured.
//!
//! The step is equally likely at each commit of the gap, so a position tells the entropy of the split that it makes, if it can be measured. Broken
//! commits come in runs: the closer a position is to broken ones, and the longer their run is, the less likely it is usable.

use super::line::{Line, State};

/// Broken positions of a gap after which it is narrowed no further, in addition to the steps of a binary search of the gap.
const BROKEN_ALLOWED: u32 = 2;

/// The untried position between `left` and `right` that tells most; `None` if there is none, or if too many between them were broken.
pub(super) fn pick(line: &Line, left: u32, right: u32) -> Option<u32> {
    let inside = left + 1..right;
    let is_broken = |position: &u32| line.state(*position) == State::Broken;
    let broken: Vec<u32> = inside.clone().filter(is_broken).collect();
    let width = right - left;
    if broken.len() as u32 >= width.ilog2() + 1 + BROKEN_ALLOWED {
        return None;
    }
    let untried = inside.filter(|position| line.state(*position) == State::Untried);
    let tells = |position: u32| split_entropy(position - left, width) * usable(position, &broken);
    let mut best: Option<(u32, f64)> = None;
    for position in untried {
        let score = tells(position);
        if best.is_none_or(|(_, most)| score > most) {
            best = Some((position, score));
        }
    }
    best.map(|(position, _)| position)
}

/// Bits that a split into `part` and the rest of `whole` tells.
fn split_entropy(part: u32, whole: u32) -> f64 {
    let share = f64::from(part) / f64::from(whole);
    let bits = |p: f64| if p > 0.0 { -p * p.log2() } else { 0.0 };
    bits(share) + bits(1.0 - share)
}

/// How likely a position is usable: 1 far from `broken` ones, less within a distance like their run's length.
fn usable(position: u32, broken: &[u32]) -> f64 {
    let Some(distance) = broken.iter().map(|other| other.abs_diff(position)).min() else { return 1.0 };
    let run = broken[broken.len() - 1] - broken[0] + 1;
    f64::from(distance) / f64::from(distance + run)
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_model::drill::{DrillSettings, Evidence, Noise, Trial, TrialResult, Unusable};

    const SETTINGS: DrillSettings =
        DrillSettings { noise: Noise::Any, level: 0.95, least: 0.02, most_blocks: 60, layouts: 0, thorough: false };

    fn with_broken(last: u32, broken: impl Iterator<Item = u32>) -> Evidence {
        let result = TrialResult::Unusable { why: Unusable::Build };
        let mut evidence = Evidence::new(last, Vec::new());
        evidence.trials = broken.map(|position| Trial { position, surroundings: 0, result }).collect();
        evidence
    }

    #[test]
    fn without_broken_commits_it_is_the_middle() {
        let evidence = with_broken(101, std::iter::empty());
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 101), Some(50));
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 7, 9), Some(8));
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 7, 8), None);
    }

    #[test]
    fn a_run_of_broken_commits_is_left_in_a_few_tries() {
        let is_broken = |position: u32| (60..140).contains(&position);
        let mut broken = Vec::new();
        let outside = loop {
            let evidence = with_broken(200, broken.iter().copied());
            let position = pick(&Line::new(&evidence, &SETTINGS), 0, 200).unwrap();
            if !is_broken(position) {
                break position;
            }
            broken.push(position);
        };
        assert!(broken.len() <= 5 && (20..180).contains(&outside), "{broken:?}, {outside}");
    }

    #[test]
    fn a_gap_of_broken_commits_is_given_up() {
        let evidence = with_broken(10, 1..10);
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 10), None);
        let evidence = with_broken(1000, 480..492);
        assert_eq!(pick(&Line::new(&evidence, &SETTINGS), 0, 1000), None);
    }
}
