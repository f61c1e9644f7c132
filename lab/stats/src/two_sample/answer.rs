//! Answer about one workload, from its test and intervals.

use super::units::Boots;
use crate::thresholds::TOO_NOISY;
use crate::workload_comparison::{Answer, Bounded, Inconclusive, Method};
use faultline_record::direction::Direction;

/// Input of an answer.
#[derive(Debug, Clone, Copy)]
pub(super) struct AnswerInput {
    pub(super) boots: Boots,
    pub(super) method: Method,
    /// True if the test rejects equality, corrected for all workloads.
    pub(super) rejected: bool,
    /// The ratio with the test's interval. `None` if it is not representable.
    pub(super) ratio: Option<Bounded>,
    /// The ratio at the Bonferroni level, used to claim equality.
    pub(super) ratio_by_bonferroni: Option<Bounded>,
    /// True if the machine's state can be assumed to be equal for both sides.
    pub(super) may_be_compared: bool,
}

/// An answer with its ratio and reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answered {
    pub(super) answer: Answer,
    pub(super) inconclusive: Option<Inconclusive>,
    pub(super) within_margin: bool,
}

impl AnswerInput {
    /// The answer. It is a difference if the corrected test and the interval both exclude equality:
    /// with tied values, the interval is stricter.
    pub(super) fn answered(self, direction: Direction, margin: f64) -> Answered {
        if let Some(why) = self.no_answer() {
            return Answered { answer: Answer::Inconclusive, inconclusive: Some(why), within_margin: false };
        }
        let within_margin = self.ratio_by_bonferroni.is_some_and(|ratio| is_within(&ratio, margin));
        let answer = match self.difference(direction) {
            Some(difference) => difference,
            None if within_margin => Answer::Equal,
            None => Answer::Inconclusive,
        };
        let inconclusive = (answer == Answer::Inconclusive).then_some(Inconclusive::PastMargin);
        Answered { answer, inconclusive, within_margin }
    }

    /// Reason why there can be no answer, whatever the ratio.
    fn no_answer(&self) -> Option<Inconclusive> {
        match (self.boots, self.method, self.ratio) {
            (Boots::Confounded, ..) => Some(Inconclusive::ConfoundedBoots),
            (_, Method::None, _) => Some(Inconclusive::FewValues),
            _ if !self.may_be_compared => Some(Inconclusive::NotInterleaved),
            (.., None) => Some(Inconclusive::TooNoisy),
            (.., Some(ratio)) => is_too_noisy(&ratio).then_some(Inconclusive::TooNoisy),
        }
    }

    fn difference(&self, direction: Direction) -> Option<Answer> {
        let ratio = self.ratio.filter(|_| self.rejected)?;
        let is_higher = ratio.low > 1.0;
        let is_lower = ratio.high < 1.0;
        match direction {
            Direction::Higher if is_higher => Some(Answer::Faster),
            Direction::Higher if is_lower => Some(Answer::Slower),
            Direction::Lower if is_lower => Some(Answer::Faster),
            Direction::Lower if is_higher => Some(Answer::Slower),
            Direction::Higher | Direction::Lower => None,
        }
    }
}

fn is_within(ratio: &Bounded, margin: f64) -> bool {
    ratio.high <= 1.0 + margin && ratio.low * (1.0 + margin) >= 1.0
}

/// True if the interval is too wide for an answer: the ratio of its ends exceeds [`TOO_NOISY`], and
/// on a logarithmic scale its nearer end is closer to equality than to its middle.
fn is_too_noisy(ratio: &Bounded) -> bool {
    let (low, high) = (ratio.low.ln(), ratio.high.ln());
    let width = high - low;
    let distance = if low > 0.0 { low } else { (-high).max(0.0) };
    width > TOO_NOISY.ln() && width / 2.0 > distance
}

#[cfg(test)]
mod tests {
    use super::*;

    const MARGIN: f64 = 0.02;

    fn bounded(low: f64, high: f64) -> Option<Bounded> {
        Some(Bounded { value: (low * high).sqrt(), low, high, level: 0.95 })
    }

    /// Evidence from alternating runs whose test rejects equality, with this interval.
    fn evidence(low: f64, high: f64) -> AnswerInput {
        AnswerInput {
            boots: Boots::Shared,
            method: Method::SignedRanks,
            rejected: low > 1.0 || high < 1.0,
            ratio: bounded(low, high),
            ratio_by_bonferroni: bounded(low, high),
            may_be_compared: true,
        }
    }

    fn of(evidence: AnswerInput) -> (Answer, Option<Inconclusive>, bool) {
        let Answered { answer, inconclusive, within_margin } = evidence.answered(Direction::Higher, MARGIN);
        (answer, inconclusive, within_margin)
    }

    fn answer(low: f64, high: f64) -> (Answer, Option<Inconclusive>, bool) {
        of(evidence(low, high))
    }

    #[test]
    fn equality_needs_an_interval_within_the_margin() {
        assert_eq!(answer(0.99, 1.01), (Answer::Equal, None, true));
        assert_eq!(answer(1.0 / 1.02, 1.02), (Answer::Equal, None, true), "its ends count as equal");
        for (low, high) in [(0.98, 1.01), (0.99, 1.021), (0.74, 1.04)] {
            assert_eq!(answer(low, high), (Answer::Inconclusive, Some(Inconclusive::PastMargin), false));
        }
    }

    #[test]
    fn a_significant_difference_within_the_margin_is_one_and_is_marked() {
        assert_eq!(answer(1.001, 1.015), (Answer::Faster, None, true));
        assert_eq!(answer(0.985, 0.999), (Answer::Slower, None, true));
        assert_eq!(answer(0.95, 0.999), (Answer::Slower, None, false));
        let narrow_by_holm = AnswerInput { ratio_by_bonferroni: bounded(0.96, 1.01), ..evidence(0.985, 0.999) };
        assert_eq!(of(narrow_by_holm), (Answer::Slower, None, false), "the margin goes by Bonferroni's level");
    }

    #[test]
    fn a_test_and_its_interval_both_have_to_exclude_equality() {
        let only_the_interval = AnswerInput { rejected: false, ..evidence(1.03, 1.05) };
        assert_eq!(of(only_the_interval), (Answer::Inconclusive, Some(Inconclusive::PastMargin), false));
        let only_the_test = AnswerInput { rejected: true, ..evidence(1.0, 1.01) };
        assert_eq!(of(only_the_test), (Answer::Equal, None, true));
    }

    #[test]
    fn a_wide_interval_is_an_answer_only_far_from_equality() {
        let too_noisy = (Answer::Inconclusive, Some(Inconclusive::TooNoisy), false);
        assert_eq!(answer(6.39, 10.3), (Answer::Faster, None, false), "+539 … +930 %");
        assert_eq!(answer(1.0 / 10.3, 1.0 / 6.39), (Answer::Slower, None, false));
        assert_eq!(answer(4.16, 23.86), (Answer::Faster, None, false), "+316 … +2286 %");
        assert_eq!(answer(1.02, 4.09), too_noisy, "+2 … +309 %");
        assert_eq!(answer(1.0 / 4.09, 1.0 / 1.02), too_noisy);
        assert_eq!(answer(0.7, 1.2), too_noisy);
        // Exactly at both thresholds: the ends differ by 3/2, and the distance is half the width.
        assert_eq!(answer(1.02, 1.529).0, Answer::Faster);
        assert_eq!(answer(1.02, 1.531), too_noisy);
        assert_eq!(answer(2.0, 7.99).0, Answer::Faster);
        assert_eq!(answer(2.0, 8.01), too_noisy);
    }

    #[test]
    fn what_can_not_be_answered_says_why() {
        let with = |change: fn(&mut AnswerInput)| {
            let mut evidence = evidence(1.03, 1.05);
            change(&mut evidence);
            of(evidence).1.unwrap()
        };
        assert_eq!(with(|evidence| evidence.boots = Boots::Confounded), Inconclusive::ConfoundedBoots);
        assert_eq!(with(|evidence| (evidence.method, evidence.ratio) = (Method::None, None)), Inconclusive::FewValues);
        assert_eq!(with(|evidence| evidence.may_be_compared = false), Inconclusive::NotInterleaved);
        assert_eq!(with(|evidence| evidence.ratio = None), Inconclusive::TooNoisy);
    }
}
