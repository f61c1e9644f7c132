//! The scaling laws of both sides in sentences: `contention fell from 0.21 to 0.08`.

use super::change::level;
use crate::escape::one_line;
use crate::figure;
use crate::style::{Signs, Tone};
use faultline_stats::comparison::ScaledCase;
use faultline_stats::scaling::{Law, Move, ParameterChange, ScalingComparison};

/// The law of a case: `self_exec:static, by the Universal Scalability Law`.
pub(crate) fn title(case: &ScaledCase) -> String {
    let law = match case.comparison.law {
        Law::Amdahl => "Amdahl's law",
        Law::Universal => "the Universal Scalability Law",
    };
    format!("{}, by {law}", one_line(&case.name))
}

/// A sentence per parameter with its tone, then the peak if it moved.
pub(crate) fn sentences(case: &ScaledCase, signs: &Signs) -> Vec<(Tone, String)> {
    let comparison = &case.comparison;
    let mut sentences = vec![share("contention", &comparison.serial, signs)];
    sentences.extend(comparison.coherence.as_ref().map(|coherence| share("coherence", coherence, signs)));
    sentences.push(one_cpu(&comparison.one_cpu, &case.unit, signs));
    sentences.extend(peaks(comparison).map(|peaks| (Tone::Quiet, peak(peaks))));
    sentences
}

/// A share of the work. Less is better.
fn share(name: &str, change: &ParameterChange, signs: &Signs) -> (Tone, String) {
    let [a, b, low, high] =
        [change.a, change.b, change.difference.low, change.difference.high].map(|value| rounded(value, signs));
    let difference = format!("difference {low} {} {high} at {}", signs.to, level(change.difference.level));
    match change.change {
        Move::Fell => (Tone::Good, format!("{name} fell from {a} to {b} ({difference})")),
        Move::Rose => (Tone::Bad, format!("{name} rose from {a} to {b} ({difference})")),
        Move::NoDifference => {
            (Tone::Quiet, format!("{name}: no difference detected between {a} and {b} ({difference})"))
        }
    }
}

/// The rate of one CPU. More is better.
fn one_cpu(change: &ParameterChange, unit: &str, signs: &Signs) -> (Tone, String) {
    let [a, b] = [change.a, change.b].map(|value| figure::quantity(value, &one_line(unit), signs));
    let [low, high] = [change.difference.low, change.difference.high].map(figure::plain);
    let ratio = format!("ratio {low} {} {high} at {}", signs.to, level(change.difference.level));
    match change.change {
        Move::Fell => (Tone::Bad, format!("the rate of one CPU fell from {a} to {b} ({ratio})")),
        Move::Rose => (Tone::Good, format!("the rate of one CPU rose from {a} to {b} ({ratio})")),
        Move::NoDifference => {
            (Tone::Quiet, format!("the rate of one CPU: no difference detected between {a} and {b} ({ratio})"))
        }
    }
}

/// The numbers of CPUs at which both laws peak: √((1 − σ)/κ), as in docs/METHODOLOGY.md.
///
/// `None` unless one of these parameters differs significantly and both laws have a peak.
fn peaks(comparison: &ScalingComparison) -> Option<[f64; 2]> {
    let coherence = comparison.coherence?;
    let serial = comparison.serial;
    let moved = [serial.change, coherence.change].iter().any(|change| *change != Move::NoDifference);
    let peaks = [(serial.a, coherence.a), (serial.b, coherence.b)]
        .map(|(serial, coherence)| ((1.0 - serial) / coherence).sqrt());
    (moved && peaks.iter().all(|peak| peak.is_finite() && *peak >= 1.0)).then_some(peaks)
}

fn peak([a, b]: [f64; 2]) -> String {
    format!(
        "by these estimates the law peaks at {a:.0} CPUs on A and at {b:.0} on B, without an interval and perhaps beyond \
         the measured range"
    )
}

/// A share with two significant digits; small ones with at least three decimals.
fn rounded(value: f64, signs: &Signs) -> String {
    let size = value.abs();
    if !value.is_finite() {
        return signs.none.to_owned();
    }
    let decimals = if size >= 0.1 || size == 0.0 { 2 } else { (1.0 - size.log10().floor()).clamp(3.0, 8.0) as usize };
    format!("{}{size:.decimals$}", if value < 0.0 { signs.minus } else { "" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::style::UNICODE;
    use faultline_stats::workload_comparison::Bounded;

    fn change(a: f64, b: f64, change: Move) -> ParameterChange {
        let difference = Bounded { value: b - a, low: b - a - 0.01, high: b - a + 0.01, level: 0.98333 };
        ParameterChange { a, b, difference, p: 0.001, change }
    }

    fn case(serial: ParameterChange, coherence: Option<ParameterChange>) -> ScaledCase {
        let law = if coherence.is_some() { Law::Universal } else { Law::Amdahl };
        let one_cpu = change(1.0e6, 1.0e6, Move::NoDifference);
        let comparison = ScalingComparison { law, one_cpu, serial, coherence };
        ScaledCase { name: "zero_fill:base".into(), unit: "fault/s".into(), comparison }
    }

    #[test]
    fn contention_that_fell_is_reported_with_its_interval() {
        let sentences = sentences(&case(change(0.21, 0.08, Move::Fell), None), &UNICODE);
        let first = "contention fell from 0.21 to 0.080 (difference −0.14 … −0.12 at 98.3 %)";
        assert_eq!(sentences[0], (Tone::Good, first.into()));
        assert_eq!(sentences.len(), 2, "{sentences:?}");
    }

    #[test]
    fn a_peak_is_reported_only_where_it_can_have_moved() {
        let told = |change_of: Move, coherence: f64| {
            let coherence = change(0.005, coherence, change_of);
            peaks(&case(change(0.2, 0.1, change_of), Some(coherence)).comparison).map(|peaks| peaks.map(f64::round))
        };
        assert_eq!(told(Move::Fell, 0.001), Some([13.0, 30.0]));
        assert_eq!(told(Move::NoDifference, 0.001), None);
        assert_eq!(told(Move::Fell, -0.001), None, "a law without a peak");
        assert_eq!(told(Move::Fell, 0.0), None);
    }
}
