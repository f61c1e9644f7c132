//! Several tests at once: Holm's procedure controls the probability of any false rejection.
//!
//! Source: S. Holm, A Simple Sequentially Rejective Multiple Test Procedure, Scandinavian Journal
//! of Statistics 6, 1979.

/// The result of one test.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Decision {
    /// True if equality is rejected.
    pub(crate) rejected: bool,
    /// The corrected p-value: at most the familywise `alpha` exactly if the hypothesis is rejected.
    pub(crate) p_corrected: f64,
    /// The level at which this test was decided. Intervals of coverage 1 − `alpha` agree with the
    /// decision.
    pub(crate) alpha: f64,
}

/// Decides tests with the p-values `p`, in their order, so that the probability of any false
/// rejection is at most `alpha`.
pub(crate) fn holm(p: &[f64], alpha: f64) -> Vec<Decision> {
    let mut by_size: Vec<usize> = (0..p.len()).collect();
    by_size.sort_by(|&i, &j| p[i].total_cmp(&p[j]));
    let mut decisions = vec![Decision { rejected: false, p_corrected: 1.0, alpha }; p.len()];
    let mut before: f64 = 0.0;
    let mut stopped_at = None;
    for (rank, &i) in by_size.iter().enumerate() {
        let left = (p.len() - rank) as f64;
        before = before.max((p[i] * left).min(1.0));
        let rejected = stopped_at.is_none() && before <= alpha;
        if !rejected {
            stopped_at.get_or_insert(alpha / left);
        }
        decisions[i] = Decision { rejected, p_corrected: before, alpha: stopped_at.unwrap_or(alpha / left) };
    }
    decisions
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_example_of_the_textbooks() {
        let decisions = holm(&[0.01, 0.04, 0.03, 0.005], 0.05);
        let rejected: Vec<bool> = decisions.iter().map(|decision| decision.rejected).collect();
        assert_eq!(rejected, [true, false, false, true]);
        assert!((decisions[3].p_corrected - 0.02).abs() < 1e-12 && (decisions[0].p_corrected - 0.03).abs() < 1e-12);
        assert!((decisions[2].alpha - 0.025).abs() < 1e-12 && (decisions[1].alpha - 0.025).abs() < 1e-12);
    }

    proptest! {
        #[test]
        fn decision_corrected_chance_and_level_agree(p in proptest::collection::vec(0.0f64..0.2, 1..10)) {
            for (p, decision) in p.iter().zip(holm(&p, 0.05)) {
                prop_assert_eq!(decision.rejected, decision.p_corrected <= 0.05);
                prop_assert!(!decision.rejected || *p <= decision.alpha * (1.0 + 1e-12));
                prop_assert!(decision.rejected || decision.p_corrected >= *p);
            }
        }
    }
}
