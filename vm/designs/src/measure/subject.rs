//! What is measured: a design, or the host's kernel.

use super::benchmark::{Bench, Figures, Shape};
use super::fragmentation::{self, Left, Trace};
use super::{bulk, faults, host, huge, nearly_full, rand, repeat};
use crate::Design;

/// A subject of the measurement.
pub struct Subject {
    pub(super) name: &'static str,
    pub(super) sample: fn(Bench, &Shape<'_>) -> Option<Figures>,
    /// None if the subject has no frames of its own.
    pub(super) mixed_run: Option<fn(&Trace) -> Left>,
    pub(super) has_huge: bool,
}

impl Subject {
    /// A design.
    pub fn of<D: Design>() -> Self {
        Subject {
            name: D::NAME,
            sample: |bench, shape| (D::HAS_HUGE || bench != Bench::Huge).then(|| sample::<D>(bench, shape)),
            mixed_run: Some(fragmentation::mixed_run::<D>),
            has_huge: D::HAS_HUGE,
        }
    }

    /// The host's kernel, for comparison: it also maps, faults and clears pages.
    pub(super) fn host() -> Self {
        Subject { name: "host kernel", sample: host::sample, mixed_run: None, has_huge: false }
    }
}

fn sample<D: Design>(bench: Bench, shape: &Shape<'_>) -> Figures {
    match bench {
        Bench::Bulk => bulk::sample::<D>(shape),
        Bench::Repeat => repeat::sample::<D>(shape),
        Bench::Rand => rand::sample::<D>(shape),
        Bench::Faults => faults::sample::<D>(shape),
        Bench::NearlyFull => nearly_full::sample::<D>(shape),
        Bench::Huge => huge::sample::<D>(shape),
    }
}
