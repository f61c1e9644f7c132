//! Kinds of noise in series of measurements without a step, for tests of the false-positive rate.

use crate::noise::Noise;

/// A kind of noise, with a standard deviation of about 1 if it has one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    White,
    /// First-order autoregressive, with this coefficient in hundredths.
    Autoregressive(u8),
    /// 80 % of the variance is white, 20 % autoregressive with the coefficient 0.97.
    WhiteAndSlow,
    /// Fractional noise with this d in tenths: its autocorrelation is a power law of the lag.
    Fractional(u8),
    /// White noise around a random walk with steps of a tenth of the noise.
    Wander,
    /// Student's t of 3 degrees of freedom.
    HeavyTailed,
    /// White noise, with 3 % of the values higher by about 10.
    Outliers,
    /// White noise, with 30 % of the values higher by 4.
    TwoLevels,
    /// White noise around a level that jumps up or down by 4, with this probability per point, in
    /// hundredths.
    Flicker(u8),
    /// White noise, rounded to units of 1.4 standard deviations.
    Quantised,
    /// White noise around a straight rise of 2 in total.
    Rise,
    /// White noise, three times as wide in the second half.
    Widening,
}

pub const KINDS: [Kind; 18] = [
    Kind::White,
    Kind::Autoregressive(30),
    Kind::Autoregressive(60),
    Kind::Autoregressive(80),
    Kind::Autoregressive(90),
    Kind::Autoregressive(97),
    Kind::WhiteAndSlow,
    Kind::Fractional(2),
    Kind::Fractional(4),
    Kind::Wander,
    Kind::HeavyTailed,
    Kind::Outliers,
    Kind::TwoLevels,
    Kind::Flicker(20),
    Kind::Flicker(5),
    Kind::Quantised,
    Kind::Rise,
    Kind::Widening,
];

/// A series of `points` values without a step.
pub fn series(random: &mut Noise, kind: Kind, points: usize) -> Vec<f64> {
    match kind {
        Kind::White => values(points, |_| random.normal()),
        Kind::Autoregressive(kept) => random.autoregressive(f64::from(kept) / 100.0, points),
        Kind::WhiteAndSlow => {
            let slow = random.autoregressive(0.97, points);
            values(points, |i| 0.2f64.sqrt() * slow[i] + 0.8f64.sqrt() * random.normal())
        }
        Kind::Fractional(tenths) => fractional(random, f64::from(tenths) / 10.0, points),
        Kind::Wander => {
            let mut level = 0.0;
            values(points, |_| {
                level += 0.1 * random.normal();
                level + random.normal()
            })
        }
        Kind::HeavyTailed => values(points, |_| {
            let squares: f64 = (0..3).map(|_| random.normal().powi(2)).sum();
            random.normal() / (squares / 3.0).sqrt()
        }),
        Kind::Outliers => values(points, |_| {
            let outlier = if random.uniform() < 0.03 { 10.0 + 5.0 * random.normal() } else { 0.0 };
            outlier + random.normal()
        }),
        Kind::TwoLevels => values(points, |_| (if random.uniform() < 0.3 { 4.0 } else { 0.0 }) + random.normal()),
        Kind::Flicker(hundredths) => {
            let mut level = 0.0;
            values(points, |_| {
                if random.uniform() < f64::from(hundredths) / 100.0 {
                    level = 4.0 - level;
                }
                level + random.normal()
            })
        }
        Kind::Quantised => values(points, |_| (0.7 * random.normal()).round()),
        Kind::Rise => values(points, |i| 2.0 * i as f64 / points as f64 + random.normal()),
        Kind::Widening => values(points, |i| if i < points / 2 { 1.0 } else { 3.0 } * random.normal()),
    }
}

fn values(points: usize, value: impl FnMut(usize) -> f64) -> Vec<f64> {
    (0..points).map(value).collect()
}

/// Fractional noise as a moving average of twice as many past values, at least 1000.
fn fractional(random: &mut Noise, d: f64, points: usize) -> Vec<f64> {
    let past = (2 * points).max(1000);
    let mut weights = vec![1.0];
    for k in 1..past {
        weights.push(weights[k - 1] * (k as f64 - 1.0 + d) / k as f64);
    }
    let deviation = weights.iter().map(|weight| weight * weight).sum::<f64>().sqrt();
    let fresh: Vec<f64> = (0..past + points).map(|_| random.normal()).collect();
    let value =
        |i: usize| weights.iter().zip(fresh[..=past + i].iter().rev()).map(|(weight, one)| weight * one).sum::<f64>();
    (0..points).map(|i| value(i) / deviation).collect()
}
