//! The posterior of steps along a line, given measured levels: a hidden Markov model over a grid of
//! levels.
//!
//! Between two measured positions the level stays, or it jumps. The prior of the jump's size has
//! the same mass in every octave from half of the least change up, in both directions, so small and
//! large steps are equally expected. Each build deviates from its commit's level by a deviation of
//! its own, as builds of the same code do; its standard deviation is unknown, with a prior over
//! parts of the least change. Forward and backward sums give the probability of a jump in each gap.
//!
//! Sources: L. R. Rabiner, A Tutorial on Hidden Markov Models, Proceedings of the IEEE 77, 1989; P.
//! Fearnhead, Exact and Efficient Bayesian Inference for Multiple Changepoint Problems, Statistics
//! and Computing 16, 2006.

/// Prior number of steps of a line.
const EXPECTED_STEPS: f64 = 1.5;

/// Grid points in the least change.
const FINENESS: f64 = 8.0;

/// Greatest number of grid points.
const MOST_POINTS: f64 = 1500.0;

/// Standard deviation between builds of the same code, as parts of the least change, with the prior
/// of each.
const BETWEEN_BUILDS: [(f64, f64); 4] = [(1.0 / 16.0, 0.2), (1.0 / 8.0, 0.35), (1.0 / 4.0, 0.35), (1.0 / 2.0, 0.1)];

/// A measured position.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Point {
    pub(crate) position: u32,
    pub(crate) level: f64,
    pub(crate) variance: f64,
    /// True if its build is that of the point before.
    pub(crate) is_same_build: bool,
}

/// Probabilities of a step in a gap.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct StepChance {
    /// Probability of a step of any size in the prior, which begins at half of the least change.
    pub(crate) of_any: f64,
    /// Probability of a step of the least change or more.
    pub(crate) of_least: f64,
}

/// The probability of a step in each gap between neighbours of `points`, on a line of `commits`
/// commits. `least`: the least change, as a logarithm.
pub(crate) fn step_chances(points: &[Point], commits: u32, least: f64) -> Vec<StepChance> {
    if points.len() < 2 {
        return Vec::new();
    }
    let grid = Grid::around(points, least);
    let jumps = grid.jumps(least);
    let models: Vec<(f64, Vec<StepChance>)> = BETWEEN_BUILDS
        .iter()
        .map(|(part, prior)| {
            let (evidence, gaps) = grid.run(points, &jumps, commits, (part * least).powi(2));
            (evidence + prior.ln(), gaps)
        })
        .collect();
    let best = models.iter().map(|(evidence, _)| *evidence).fold(f64::NEG_INFINITY, f64::max);
    let total: f64 = models.iter().map(|(evidence, _)| (evidence - best).exp()).sum();
    let mean = |of: &dyn Fn(&[StepChance]) -> f64| {
        models.iter().map(|(evidence, gaps)| (evidence - best).exp() * of(gaps)).sum::<f64>() / total
    };
    let chance =
        |gap: usize| StepChance { of_any: mean(&|gaps| gaps[gap].of_any), of_least: mean(&|gaps| gaps[gap].of_least) };
    (0..points.len() - 1).map(chance).collect()
}

/// Levels with a constant distance.
struct Grid {
    lowest: f64,
    distance: f64,
    points: usize,
}

/// Jumps of `from` to `to` grid points, exclusive, either up or down, each with the probability
/// `each`.
struct Octave {
    from: usize,
    to: usize,
    each: f64,
    /// True for jumps of at least the least change.
    is_of_least: bool,
}

impl Grid {
    fn around(points: &[Point], least: f64) -> Self {
        let margin = |point: &Point| 3.0 * point.variance.sqrt() + 2.0 * least;
        let lowest = points.iter().map(|point| point.level - margin(point)).fold(f64::INFINITY, f64::min);
        let highest = points.iter().map(|point| point.level + margin(point)).fold(f64::NEG_INFINITY, f64::max);
        let distance = (least / FINENESS).max((highest - lowest) / MOST_POINTS);
        Grid { lowest, distance, points: ((highest - lowest) / distance).ceil() as usize + 1 }
    }

    /// The prior of a jump's size.
    fn jumps(&self, least: f64) -> Vec<Octave> {
        let mut octaves = Vec::new();
        let mut size = least / 2.0;
        let place = |size: f64| ((size / self.distance).ceil() as usize).max(1);
        while place(size) < self.points.max(2) {
            let (from, to) = (place(size), place(2.0 * size));
            if to > from {
                octaves.push(Octave { from, to, each: 0.0, is_of_least: size >= least });
            }
            size *= 2.0;
        }
        let number = octaves.len() as f64;
        for octave in &mut octaves {
            octave.each = 1.0 / (2.0 * number * (octave.to - octave.from) as f64);
        }
        octaves
    }

    /// Log evidence, and the probability of a jump in each gap, for this variance between builds.
    fn run(&self, points: &[Point], jumps: &[Octave], commits: u32, between: f64) -> (f64, Vec<StepChance>) {
        let emissions: Vec<Vec<f64>> = points
            .iter()
            .map(|point| if point.is_same_build { vec![1.0; self.points] } else { self.emission(point, between) })
            .collect();
        let chances: Vec<f64> = points.windows(2).map(|pair| jump_chance(pair, commits)).collect();
        let (forward, mut evidence) = self.forward(&emissions, &chances, jumps);
        // Constants absent from the emissions.
        evidence -= points
            .iter()
            .filter(|point| !point.is_same_build)
            .map(|point| 0.5 * (point.variance + between + self.rounding()).ln())
            .sum::<f64>();
        let mut gaps = vec![StepChance { of_any: 0.0, of_least: 0.0 }; chances.len()];
        let mut after = vec![1.0; self.points];
        for gap in (0..chances.len()).rev() {
            let seen: Vec<f64> = after.iter().zip(&emissions[gap + 1]).map(|(x, y)| x * y).collect();
            let jumped = spread_by(&seen, jumps.iter());
            let product = |side: &[f64]| side.iter().zip(&forward[gap]).map(|(x, y)| x * y).sum::<f64>();
            let with = chances[gap] * product(&jumped);
            let with_least =
                chances[gap] * product(&spread_by(&seen, jumps.iter().filter(|octave| octave.is_of_least)));
            let without = (1.0 - chances[gap]) * product(&seen);
            let of = |part: f64| if with + without > 0.0 { part / (with + without) } else { chances[gap] };
            gaps[gap] = StepChance { of_any: of(with), of_least: of(with_least) };
            let next = seen.iter().zip(&jumped);
            after = next.map(|(stayed, jumped)| (1.0 - chances[gap]) * stayed + chances[gap] * jumped).collect();
            scale_to_one(&mut after);
        }
        (evidence, gaps)
    }

    /// Filtered distributions, and the log evidence.
    fn forward(&self, emissions: &[Vec<f64>], chances: &[f64], jumps: &[Octave]) -> (Vec<Vec<f64>>, f64) {
        let mut now: Vec<f64> = emissions[0].clone();
        let mut evidence = scale_to_one(&mut now).ln();
        let mut all = vec![now];
        for (emission, chance) in emissions[1..].iter().zip(chances) {
            let before = all.last().expect("the first point");
            let jumped = spread_by(before, jumps.iter());
            let step =
                |((stayed, jumped), seen): ((&f64, &f64), &f64)| seen * ((1.0 - chance) * stayed + chance * jumped);
            let mut now: Vec<f64> = before.iter().zip(&jumped).zip(emission).map(step).collect();
            evidence += scale_to_one(&mut now).ln();
            all.push(now);
        }
        (all, evidence)
    }

    /// Variance from the grid's distance.
    fn rounding(&self) -> f64 {
        self.distance * self.distance / 12.0
    }

    /// Likelihood of each level, up to a common factor.
    fn emission(&self, point: &Point, between: f64) -> Vec<f64> {
        let variance = point.variance + between + self.rounding();
        let at = |i: usize| self.lowest + i as f64 * self.distance;
        // At least what a grid of any size can carry; the nearest level has nearly 1.
        (0..self.points).map(|i| (-(at(i) - point.level).powi(2) / (2.0 * variance)).exp().max(1e-280)).collect()
    }
}

/// Prior probability of a step between two points.
fn jump_chance(pair: &[Point], commits: u32) -> f64 {
    if pair[1].is_same_build {
        return 0.0;
    }
    let each = (EXPECTED_STEPS / f64::from(commits.max(1))).min(0.5);
    1.0 - (1.0 - each).powf(f64::from(pair[1].position - pair[0].position))
}

/// The distribution after one of these jumps, from one before it.
fn spread_by<'a>(before: &[f64], jumps: impl Iterator<Item = &'a Octave> + Clone) -> Vec<f64> {
    let mut sums = vec![0.0];
    for value in before {
        sums.push(sums[sums.len() - 1] + value);
    }
    let n = before.len();
    // Rounding may leave a negative number.
    let between = |from: usize, to: usize| (sums[to.min(n)] - sums[from.min(n)]).max(0.0);
    let at = |i: usize| {
        let of = |octave: &Octave| {
            let from_below = between((i + 1).saturating_sub(octave.to), (i + 1).saturating_sub(octave.from));
            octave.each * (from_below + between(i + octave.from, i + octave.to))
        };
        jumps.clone().map(of).sum()
    };
    (0..n).map(at).collect()
}

/// Divides by the sum, and returns it.
fn scale_to_one(values: &mut [f64]) -> f64 {
    let sum = values.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    values.iter_mut().for_each(|value| *value /= sum);
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Probabilities of a step of any size.
    fn step_probabilities(points: &[Point], commits: u32, least: f64) -> Vec<f64> {
        step_chances(points, commits, least).iter().map(|chance| chance.of_any).collect()
    }

    fn points(levels: &[(u32, f64)], deviation: f64) -> Vec<Point> {
        let point = |&(position, level): &(u32, f64)| Point {
            position,
            level,
            variance: deviation * deviation,
            is_same_build: false,
        };
        levels.iter().map(point).collect()
    }

    #[test]
    fn a_clear_step_is_certain_and_the_rest_is_not_one() {
        let found = step_probabilities(&points(&[(0, 0.0), (50, 0.001), (100, 0.1), (200, 0.101)], 0.001), 200, 0.02);
        assert!(found[1] > 0.999_9 && found[0] < 0.01 && found[2] < 0.01, "{found:?}");
    }

    #[test]
    fn imprecise_levels_leave_it_open() {
        let found = step_probabilities(&points(&[(0, 0.0), (200, 0.02)], 0.02), 200, 0.02);
        assert!(found[0] > 0.1 && found[0] < 0.9, "{found:?}");
    }

    #[test]
    fn a_position_between_two_levels_is_put_to_neither() {
        let found = step_probabilities(&points(&[(0, 0.0), (100, 0.05), (200, 0.1)], 0.02), 200, 0.02);
        assert!(found.iter().all(|p| *p > 0.2), "{found:?}");
        let found = step_probabilities(&points(&[(0, 0.0), (100, 0.05), (200, 0.1)], 0.001), 200, 0.02);
        // Not certain: builds of the same code may differ by half of the least change.
        assert!(found.iter().all(|p| *p > 0.99), "{found:?}");
    }

    #[test]
    fn the_same_build_has_no_step_before_it() {
        let mut line = points(&[(0, 0.0), (10, 0.0), (20, 0.1)], 0.001);
        line[1].is_same_build = true;
        let found = step_probabilities(&line, 20, 0.02);
        assert!(found[0] == 0.0 && found[1] > 0.999, "{found:?}");
    }

    #[test]
    fn probabilities_stay_within_bounds_for_any_size() {
        let found = step_probabilities(&points(&[(0, 0.0), (1, 9.0), (2, -9.0)], 1e-6), 2, 0.001);
        assert!(found.iter().all(|p| (0.999..=1.0).contains(p)), "{found:?}");
    }

    #[test]
    fn equal_levels_leave_room_for_small_steps_only() {
        let [only] = step_chances(&points(&[(0, 0.0), (200, 0.0)], 0.001), 200, 0.02)[..] else { panic!() };
        // Builds of the same code may differ so much that precise levels do not exclude a step of
        // half of the least change.
        assert!(only.of_any > 0.05 && only.of_least < 0.01, "{only:?}");
        // Imprecise levels exclude no step.
        let [only] = step_chances(&points(&[(0, 0.0), (200, 0.0)], 0.02), 200, 0.02)[..] else { panic!() };
        assert!(only.of_least > 0.1, "{only:?}");
        let [only] = step_chances(&points(&[(0, 0.0), (200, 0.05)], 0.001), 200, 0.02)[..] else { panic!() };
        assert!(only.of_least > 0.99, "{only:?}");
    }
}
