//! Selects the divisions of a tree that are steps: those that improve the likelihood by more than
//! they cost, for any kind of noise.
//!
//! For every kind of noise the tree is pruned to the steps that are worth their cost. The answer is
//! the kind with its steps that has the greatest penalised likelihood. So slow noise and steps
//! compete: steps are found if they describe a series better than noise alone.
//!
//! Source: G. Schwarz, Estimating the Dimension of a Model, Annals of Statistics 6, 1978 (the
//! penalised likelihood); L. Breiman et al., 1984 (pruning).

use super::likelihood::{Left, left};
use super::noise::NoiseKind;
use super::series::Series;
use super::split::LEAST_VARIANCE;
use super::tree::Node;

/// Additional cost of a line compared with a level, in units of twice the logarithm of the
/// likelihood.
const LINE_PENALTY: f64 = 8.0;

/// Additional cost of a kind of noise that is not white, for its parameters.
const KIND_PENALTY: f64 = 1.5;

/// The steps of a series for one kind of noise.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Selected {
    /// The first points after steps, ascending.
    pub(crate) cuts: Vec<usize>,
    pub(crate) kind: NoiseKind,
    /// Minus twice the logarithm of the likelihood, plus the penalties.
    cost: f64,
    /// The noise's variance.
    variance: f64,
}

impl Selected {
    /// Removes the steps that explain nothing now that all others are known, the least valuable
    /// first.
    pub(crate) fn merge(&mut self, series: &Series) {
        let mut gains: Vec<f64> = (0..self.cuts.len()).map(|i| self.gain(series, i)).collect();
        while let Some((least, _)) =
            gains.iter().enumerate().min_by(|a, b| a.1.total_cmp(b.1)).filter(|(_, gain)| **gain < 0.0)
        {
            self.cuts.remove(least);
            gains.remove(least);
            for i in least.saturating_sub(1)..(least + 1).min(gains.len()) {
                gains[i] = self.gain(series, i);
            }
        }
    }

    /// The variance that the `i`-th step explains in the segments next to it.
    fn gain(&self, series: &Series, i: usize) -> f64 {
        let from = if i == 0 { 0 } else { self.cuts[i - 1] };
        let to = self.cuts.get(i + 1).copied().unwrap_or(series.values.len());
        let cost = |from, to| left(series.stretch(from, to), &self.kind).cheaper(self.variance).0;
        cost(from, to) - cost(from, self.cuts[i]) - cost(self.cuts[i], to)
    }
}

/// The residuals of every node, for each kind of noise.
pub(crate) struct Fitted<'a> {
    nodes: &'a [Node],
    points: usize,
    kinds: Vec<(NoiseKind, Vec<Left>)>,
}

impl<'a> Fitted<'a> {
    pub(crate) fn new(series: &Series, nodes: &'a [Node], kinds: Vec<NoiseKind>) -> Self {
        let of = |kind: &NoiseKind| nodes.iter().map(|node| left(series.stretch(node.from, node.to), kind)).collect();
        let kinds = kinds.into_iter().map(|kind| (kind.clone(), of(&kind))).collect();
        Fitted { nodes, points: series.values.len(), kinds }
    }

    /// The best steps with this penalty for each step.
    pub(crate) fn selected(&self, penalty: f64) -> Selected {
        let of = |(kind, left): &(NoiseKind, Vec<Left>)| {
            let Outcome { cuts, cost, variance } = self.pruned(left, penalty);
            let cost = cost + if kind.is_white() { 0.0 } else { KIND_PENALTY };
            Selected { cuts, kind: kind.clone(), cost, variance }
        };
        let best = self.kinds.iter().map(of).min_by(|a, b| a.cost.total_cmp(&b.cost));
        best.expect("there is a kind of noise")
    }

    /// The cost for each kind of noise, without the cost of the kind itself.
    pub(crate) fn costs(&self, penalty: f64) -> Vec<f64> {
        self.kinds.iter().map(|(_, left)| self.pruned(left, penalty).cost).collect()
    }

    /// The steps that are worth their cost, and the cost of the series with them.
    fn pruned(&self, left: &[Left], penalty: f64) -> Outcome {
        let leaves = self.nodes.iter().zip(left).filter(|(node, _)| node.division.is_none());
        let (sum, count) = leaves.fold((0.0, 0), |(sum, count), (_, left)| (sum + left.about_level, count + 1));
        let freedom = (self.points as f64 - f64::from(count)).max(3.0);
        let mut variance = (sum / freedom).max(LEAST_VARIANCE);
        let mut best = self.outcome(left, &vec![false; self.nodes.len()], penalty, variance);
        // Steps and variance are fitted to each other. It ends: the cost falls, and nodes are few.
        loop {
            let kept = self.kept(left, penalty, variance);
            let outcome = self.outcome(left, &kept, penalty, variance);
            if outcome.cost >= best.cost {
                return best;
            }
            variance = outcome.variance;
            best = outcome;
        }
    }

    /// The nodes that stay divided, for a given variance.
    fn kept(&self, left: &[Left], penalty: f64, variance: f64) -> Vec<bool> {
        let mut costs = vec![0.0; self.nodes.len()];
        let mut kept = vec![false; self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate().rev() {
            costs[i] = left[i].cheaper(variance).0;
            if let Some((_, [a, b])) = node.division {
                let divided = costs[a] + costs[b] + penalty;
                if divided < costs[i] {
                    (costs[i], kept[i]) = (divided, true);
                }
            }
        }
        kept
    }

    /// The series with these nodes divided. `variance` determines which of the undivided nodes
    /// drift.
    fn outcome(&self, left: &[Left], kept: &[bool], penalty: f64, variance: f64) -> Outcome {
        let (mut cuts, mut open) = (Vec::new(), vec![0]);
        let (mut sum, mut log_determinant, mut lines) = (0.0, 0.0, 0.0);
        while let Some(i) = open.pop() {
            match self.nodes[i].division {
                Some((at, parts)) if kept[i] => {
                    cuts.push(at);
                    open.extend(parts);
                }
                _ => {
                    let drifts = left[i].cheaper(variance).1;
                    sum += if drifts { left[i].about_line } else { left[i].about_level };
                    lines += f64::from(u8::from(drifts));
                    log_determinant += left[i].log_determinant;
                }
            }
        }
        cuts.sort_unstable();
        let (points, steps) = (self.points as f64 - 1.0, cuts.len() as f64);
        let variance = (sum / (points - steps - lines).max(1.0)).max(LEAST_VARIANCE);
        let cost = points * variance.ln() + log_determinant + steps * penalty + lines * LINE_PENALTY;
        Outcome { cuts, cost, variance }
    }
}

struct Outcome {
    cuts: Vec<usize>,
    cost: f64,
    variance: f64,
}

impl Left {
    /// The lower cost of a level and of a line, and whether it is that of the line.
    pub(crate) fn cheaper(&self, variance: f64) -> (f64, bool) {
        let (level, line) = (self.about_level / variance, self.about_line / variance + LINE_PENALTY);
        if line < level { (line + self.log_determinant, true) } else { (level + self.log_determinant, false) }
    }
}

/// False-positive rates that may be requested.
pub(crate) const CALIBRATED: std::ops::RangeInclusive<f64> = 0.001..=0.2;

/// The cost of a step in a series of `points` points, which controls the false-positive rate.
///
/// The unit is twice the logarithm of the likelihood. The cost comes from simulated series. It is
/// high enough for noise with a slow part, which looks like steps and needs more than white noise.
/// Short series would lose too much power, so their cost is lower. docs/METHODOLOGY-APPENDIX.md, C,
/// has the rates.
pub(crate) fn penalty(points: usize, false_alarms: f64) -> f64 {
    let points = points.max(1) as f64;
    let usual = (BASE + PER_LENGTH * points.ln() - SHORT / points).max(LEAST);
    usual - PER_RATE * (false_alarms / USUAL_RATE).ln()
}

const BASE: f64 = 13.0;
const PER_LENGTH: f64 = 0.3;
const SHORT: f64 = 300.0;
const LEAST: f64 = 8.0;

/// The rate for which the constants above were chosen.
const USUAL_RATE: f64 = 0.1;
const PER_RATE: f64 = 4.0;

#[cfg(test)]
mod tests {
    use super::super::noise::{NoisePart, kinds};
    use super::super::series::{Observation, series};
    use super::super::tree::grown;
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng, SeedableRng};

    fn normal(random: &mut ChaCha8Rng) -> f64 {
        let mut uniform = || ((random.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64;
        (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos()
    }

    fn selected(values: &[f64], kinds: Vec<NoiseKind>) -> Selected {
        let observations: Vec<Observation> =
            values.iter().enumerate().map(|(i, &value)| Observation { position: i as u64, value }).collect();
        let series = series(&observations).unwrap();
        let nodes = grown(&series, 4.0);
        Fitted::new(&series, &nodes, kinds).selected(12.0)
    }

    #[test]
    fn slow_noise_is_steps_only_to_who_knows_of_none() {
        let mut random = ChaCha8Rng::seed_from_u64(3);
        let mut wander = 0.0;
        let values: Vec<f64> = (0..400)
            .map(|_| {
                wander = 0.98 * wander + 0.2 * normal(&mut random);
                wander + normal(&mut random)
            })
            .collect();
        assert!(!selected(&values, vec![NoiseKind::default()]).cuts.is_empty());
        let all = selected(&values, kinds());
        assert!(all.cuts.is_empty() && all.kind.wander().is_some(), "{all:?}");
    }

    #[test]
    fn steps_are_steps_whatever_the_noise() {
        let mut random = ChaCha8Rng::seed_from_u64(4);
        let values: Vec<f64> =
            (0..200).map(|i| normal(&mut random) + if (60..140).contains(&i) { 4.0 } else { 0.0 }).collect();
        assert_eq!(selected(&values, kinds()).cuts, [60, 140]);
        let slow = NoiseKind { parts: vec![NoisePart { share: 1.0, kept: 0.98 }] };
        assert_eq!(selected(&values, vec![NoiseKind::default(), slow]).cuts, [60, 140]);
    }

    #[test]
    fn longer_series_and_rarer_alarms_cost_more() {
        assert!(penalty(200, 0.1) > penalty(100, 0.1) && penalty(100, 0.01) > penalty(100, 0.1));
        assert_eq!(penalty(20, 0.1), LEAST);
    }
}
