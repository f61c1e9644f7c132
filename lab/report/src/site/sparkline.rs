//! A history in the height of a line of text. Its figures stand beside it, so readers of the page's words miss nothing.

use faultline_model::changes::Effect;
use faultline_model::history::HistoryStep;
use faultline_model::history::certainty::Certainty;
use faultline_model::timeline::{Bucket, BucketLevel};
use maud::{Markup, html as markup};

const WIDTH: f64 = 160.0;
const HEIGHT: f64 = 28.0;
/// Room for the thickness of lines.
const EDGE: f64 = 2.0;

/// The line of medians, the range of values behind it, a line for each step, and a tick for each bucket with commits that cannot be measured.
pub(super) fn sparkline(buckets: &[Bucket], steps: &[HistoryStep]) -> Markup {
    let levels: Vec<(&Bucket, &BucketLevel)> =
        buckets.iter().filter_map(|bucket| Some((bucket, bucket.level.as_ref()?))).collect();
    let low = levels.iter().map(|(_, level)| level.low).fold(f64::INFINITY, f64::min);
    let high = levels.iter().map(|(_, level)| level.high).fold(f64::NEG_INFINITY, f64::max);
    let last = buckets.last().map_or(1, |bucket| bucket.last.max(1));
    let x = |position: u32| EDGE + (WIDTH - 2.0 * EDGE) * f64::from(position) / f64::from(last);
    let y = |value: f64| {
        let share = if high > low { (value - low) / (high - low) } else { 0.5 };
        HEIGHT - EDGE - (HEIGHT - 2.0 * EDGE) * share
    };
    let middle = |bucket: &Bucket| x(bucket.first).midpoint(x(bucket.last));
    let point = |x: f64, y: f64| format!("{x:.1},{y:.1} ");
    let line: String = levels.iter().map(|(bucket, level)| point(middle(bucket), y(level.median))).collect();
    let upper = levels.iter().map(|(bucket, level)| point(middle(bucket), y(level.high)));
    let lower = levels.iter().rev().map(|(bucket, level)| point(middle(bucket), y(level.low)));
    let range: String = upper.chain(lower).collect();
    markup! {
        svg.spark viewBox={ "0 0 " (WIDTH) " " (HEIGHT) } width=(WIDTH) height=(HEIGHT) aria-hidden="true" focusable="false" {
            @if !levels.is_empty() {
                polygon.range points=(range) {}
                @for step in steps { line class=(class(step)) x1=(format!("{:.1}", x(step.by))) x2=(format!("{:.1}", x(step.by))) y1="0" y2=(HEIGHT) {} }
                polyline.median points=(line) {}
            }
            @for bucket in buckets.iter().filter(|bucket| bucket.unusable > 0) {
                line.unusable x1=(format!("{:.1}", middle(bucket))) x2=(format!("{:.1}", middle(bucket))) y1=(HEIGHT - 5.0) y2=(HEIGHT) {}
            }
        }
    }
}

/// How the line of a step looks: as in the strip above the plot of its history.
fn class(step: &HistoryStep) -> &'static str {
    match (step.certainty(), step.effect) {
        (Certainty::Certain, Effect::Worse) => "worse",
        (Certainty::Certain, Effect::Better) => "better",
        (Certainty::Provisional | Certainty::Inconclusive, _) => "open",
        (Certainty::Layout | Certainty::Quirk, _) => "quirk",
    }
}
