//! The samples of a run, and their statistics: median and quartiles, and ratios between subjects by
//! round.

use super::benchmark::Metric;

/// A sample: a figure of a subject on some number of threads, in one round.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Sample {
    subject: &'static str,
    metric: Metric,
    threads: usize,
    round: usize,
    ns: f64,
}

/// All samples of a run.
#[derive(Debug, Default)]
pub(super) struct Samples(Vec<Sample>);

/// The median of some numbers, and the quartiles around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Spread {
    pub(super) quarter: f64,
    pub(super) median: f64,
    pub(super) three_quarters: f64,
    pub(super) count: usize,
}

impl Spread {
    /// `None` if there are no numbers.
    pub(super) fn of(mut numbers: Vec<f64>) -> Option<Self> {
        numbers.sort_by(f64::total_cmp);
        let last = numbers.len().checked_sub(1)?;
        // Interpolates between two numbers if the quantile lies between them.
        let at = |part: f64| {
            let place = part * last as f64;
            let (below, above) = (numbers[place.floor() as usize], numbers[place.ceil() as usize]);
            below + (above - below) * place.fract()
        };
        Some(Spread { quarter: at(0.25), median: at(0.5), three_quarters: at(0.75), count: numbers.len() })
    }
}

impl Samples {
    pub(super) fn add(&mut self, subject: &'static str, metric: Metric, threads: usize, round: usize, ns: f64) {
        self.0.push(Sample { subject, metric, threads, round, ns });
    }

    /// The nanoseconds of a figure; `None` if it was not measured.
    pub(super) fn spread(&self, subject: &str, metric: Metric, threads: usize) -> Option<Spread> {
        Spread::of(self.by_round(subject, &[metric], threads).into_iter().map(|(_, ns)| ns).collect())
    }

    /// The ratio of one subject's figure to another's, per round, because both meet the same
    /// disturbances within a round. Several figures are summed first.
    pub(super) fn ratio(&self, of: &str, to: &str, metrics: &[Metric], threads: usize) -> Option<Spread> {
        let peers = self.by_round(to, metrics, threads);
        let ratio =
            |(round, ns): (usize, f64)| peers.iter().find(|(other, _)| *other == round).map(|(_, peer)| ns / peer);
        Spread::of(self.by_round(of, metrics, threads).into_iter().filter_map(ratio).collect())
    }

    /// The sum of the figures, for each round that has all of them.
    fn by_round(&self, subject: &str, metrics: &[Metric], threads: usize) -> Vec<(usize, f64)> {
        let rounds = self.0.iter().map(|sample| sample.round + 1).max().unwrap_or(0);
        let of = |round, metric| {
            let is_it = |s: &&Sample| (s.subject, s.metric, s.threads, s.round) == (subject, metric, threads, round);
            self.0.iter().find(is_it).map(|sample| sample.ns)
        };
        let sum = |round| metrics.iter().map(|&metric| of(round, metric)).sum::<Option<f64>>();
        (0..rounds).filter_map(|round| sum(round).map(|ns| (round, ns))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn samples(of: &[(&'static str, Metric, usize, f64)]) -> Samples {
        let mut samples = Samples::default();
        of.iter().for_each(|&(subject, metric, round, ns)| samples.add(subject, metric, 1, round, ns));
        samples
    }

    #[test]
    fn quartiles_lie_between_numbers() {
        let of = |numbers: &[f64]| Spread::of(numbers.to_vec());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[7.0]), Some(Spread { quarter: 7.0, median: 7.0, three_quarters: 7.0, count: 1 }));
        let four = Some(Spread { quarter: 1.75, median: 2.5, three_quarters: 3.25, count: 4 });
        assert_eq!(of(&[4.0, 1.0, 3.0, 2.0]), four);
    }

    #[test]
    fn ratios_are_of_the_same_round_and_of_sums() {
        let samples = samples(&[
            ("a", Metric::BulkGet, 0, 1.0),
            ("a", Metric::BulkPut, 0, 2.0),
            ("a", Metric::BulkGet, 1, 10.0),
            ("a", Metric::BulkPut, 1, 20.0),
            ("b", Metric::BulkGet, 0, 2.0),
            ("b", Metric::BulkPut, 0, 4.0),
            ("b", Metric::BulkGet, 1, 20.0),
            ("b", Metric::BulkPut, 1, 40.0),
            ("b", Metric::BulkPut, 2, 1000.0),
        ]);
        let ratio = samples.ratio("a", "b", &[Metric::BulkGet, Metric::BulkPut], 1).unwrap();
        assert_eq!((ratio.median, ratio.count), (0.5, 2));
        assert_eq!(samples.ratio("a", "c", &[Metric::BulkGet], 1), None);
        assert_eq!(samples.ratio("a", "b", &[Metric::BulkGet], 2), None);
        assert_eq!(samples.spread("b", Metric::BulkPut, 1).unwrap().median, 40.0);
    }
}
