//! The conclusions that a history will allow, before its commits are measured.

use super::{HistorySeries, StepBasis, StepSettings};
use crate::changes::{SHORTEST, detectable_of};

/// The steps that can be found once a number of commits are measured.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Prospect {
    /// None: the search needs more commits.
    TooFew {
        /// Number of commits with a value.
        commits: u32,
        /// The required number.
        needed: u32,
    },
    /// Steps in values with noise.
    Noisy {
        /// Number of commits with a value.
        commits: u32,
        /// The required number.
        needed: u32,
        /// The smallest detectable step in standard deviations of the noise between commits.
        deviations: f64,
        /// The smallest detectable step as a share, by the noise of earlier runs; `None` without
        /// them.
        detectable: Option<f64>,
    },
    /// Steps in counts, which are compared between neighbours.
    Counted {
        /// Number of commits with a value.
        commits: u32,
        /// The smallest step that is shown, as a share.
        least: f64,
    },
}

impl Prospect {
    /// The prospect of `commits` commits with a value. `earlier`: the series of earlier runs.
    pub fn of(commits: u32, is_counted: bool, earlier: Option<&HistorySeries>, settings: &StepSettings) -> Self {
        if is_counted {
            return match commits {
                2.. => Prospect::Counted { commits, least: settings.least_change },
                _ => Prospect::TooFew { commits, needed: 2 },
            };
        }
        let needed = SHORTEST as u32;
        let of = |commits| detectable_of(commits, settings.false_alarms);
        let Some(deviations) = of(commits) else { return Prospect::TooFew { commits, needed } };
        let scaled = |series: &HistorySeries| {
            let StepBasis::Noisy { detectable: Some(detectable), .. } = series.steps.basis else { return None };
            let measured = series.points.iter().filter(|point| point.value().is_some()).count() as u32;
            Some((detectable * deviations / of(measured)?).max(settings.least_change))
        };
        Prospect::Noisy { commits, needed, deviations, detectable: earlier.and_then(scaled) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(commits: u32, is_counted: bool) -> Prospect {
        Prospect::of(commits, is_counted, None, &StepSettings::default())
    }

    #[test]
    fn times_need_twelve_commits_and_counts_two() {
        assert_eq!(of(11, false), Prospect::TooFew { commits: 11, needed: 12 });
        assert!(matches!(of(12, false), Prospect::Noisy { commits: 12, needed: 12, detectable: None, .. }));
        assert_eq!(of(1, true), Prospect::TooFew { commits: 1, needed: 2 });
        assert_eq!(of(2, true), Prospect::Counted { commits: 2, least: 0.01 });
    }

    #[test]
    fn more_commits_show_smaller_steps() {
        let deviations = |commits| match of(commits, false) {
            Prospect::Noisy { deviations, .. } => deviations,
            other => panic!("{other:?}"),
        };
        assert!(deviations(12) > deviations(20) && deviations(20) > 2.0 && deviations(20) < 4.0);
    }
}
