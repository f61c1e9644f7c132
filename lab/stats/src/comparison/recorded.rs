//! What a comparison of two datasets needs besides their values: blocks, failures, and the conditions on the machine. Runs of ours recorded them; other
//! tools' files have no more than the words of failures.

use crate::two_sample::Conditions;
use faultline_model::dataset::{Dataset, Measured};
use faultline_model::failure::{Failure, FailureCause};

/// What is known of datasets beside what they hold. Sides are 0 and 1.
pub(crate) trait Recorded {
    /// The block of a point, by side, series and place in it.
    fn block(&self, side: usize, series: usize, point: usize) -> Option<u32>;
    /// What of a series gave no value, by side and series.
    fn failures(&self, side: usize, series: usize) -> Vec<Failure>;
    /// What was recorded of the machine meanwhile, by side and series.
    fn conditions(&self, side: usize, series: usize) -> Conditions;
}

/// Datasets of which nothing else is known.
pub(super) struct Plain<'a>(pub(super) [&'a Dataset; 2]);

impl Recorded for Plain<'_> {
    fn block(&self, _: usize, _: usize, _: usize) -> Option<u32> {
        None
    }

    fn conditions(&self, _: usize, _: usize) -> Conditions {
        Conditions::default()
    }

    fn failures(&self, side: usize, series: usize) -> Vec<Failure> {
        let told = |measured: &Measured| match measured {
            Measured::Missing(words) => {
                Some(Failure { block: None, cause: FailureCause::Told { words: words.clone() } })
            }
            Measured::Failed(failure) => Some(failure.clone()),
            Measured::Values(_) | Measured::Summary(_) => None,
        };
        self.0[side].series[series].points.iter().filter_map(|point| told(&point.measured)).collect()
    }
}
