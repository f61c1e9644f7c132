//! Input of a comparison beside the values: blocks, failures, and the machine's conditions. Our own
//! runs record them; other tools' files have at most the text of failures.

use crate::two_sample::Conditions;
use faultline_record::dataset::{Dataset, Measured};
use faultline_record::failure::{Failure, FailureCause};

/// Metadata of two datasets. Sides are 0 and 1.
pub(crate) trait Recorded {
    /// The block of a point, by side, series and place in it.
    fn block(&self, side: usize, series: usize, point: usize) -> Option<u32>;
    /// Failures, by side and series.
    fn failures(&self, side: usize, series: usize) -> Vec<Failure>;
    /// Conditions of the machine during a series, by side and series.
    fn conditions(&self, side: usize, series: usize) -> Conditions;
}

/// Datasets without metadata.
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
