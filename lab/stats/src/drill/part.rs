//! Whether a part of a step is most of it: tells code from layout, and commits from surroundings.

use crate::two_sample::sign_shift;
use faultline_model::drill::StepLabel;

/// Error of each conclusion about what changed, two-sided.
pub(crate) const LABEL_ERROR: f64 = 0.01;

/// Part of the change that tells code from layout, and commits from surroundings.
const MOST_OF_IT: f64 = 0.5;

/// Whether a part is most of a change.
pub(crate) enum Part {
    Most,
    Little,
    Unknown,
}

impl Part {
    /// Of a confidence interval for the part as a share of the whole, its ends in any order.
    pub(super) fn of_interval(ends: [f64; 2]) -> Self {
        if ends.iter().all(|share| *share > MOST_OF_IT) {
            Part::Most
        } else if ends.iter().all(|share| *share < MOST_OF_IT) {
            Part::Little
        } else {
            Part::Unknown
        }
    }

    /// Of independent measurements of the part, each as a share of the whole. They ascend.
    pub(crate) fn of_shares(shares: &[f64]) -> Self {
        sign_shift(shares, LABEL_ERROR).map_or(Part::Unknown, |(_, low, high)| Part::of_interval([low, high]))
    }
}

/// What a step is, by the part of its change that remains under random layouts.
pub(crate) fn code_or_layout(remains: Part) -> StepLabel {
    match remains {
        Part::Most => StepLabel::Code,
        Part::Little => StepLabel::Layout,
        Part::Unknown => StepLabel::Inconclusive,
    }
}
