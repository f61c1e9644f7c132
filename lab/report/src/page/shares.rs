//! Where the machine's time went, as a stacked bar per number of tasks. Patterns and words tell the parts apart, not colour alone.

use crate::figure::percent;
use faultline_model::summary::{Curve, Point, TimeShares};
use maud::{Markup, html as markup};

/// Least share whose part has room for words.
const ROOM_FOR_WORDS: f64 = 0.22;

/// The parts of a bar, in their order: name, share.
fn parts(shares: &TimeShares) -> [(&'static str, f64); 4] {
    [("user", shares.user), ("system", shares.system), ("idle", shares.idle), ("steal", shares.steal)]
}

/// What the bars show.
pub(super) const CAPTION: &str = "Where the time of all CPUs went, by number of tasks";

/// Which part has which pattern.
pub(super) fn key() -> Markup {
    markup! {
        ul.key aria-hidden="true" {
            @for part in ["user", "system", "idle", "steal"] { li { span.swatch.(part) {} (part) } }
        }
    }
}

/// The figure; nothing when no point has shares.
pub(crate) fn figure(curve: &Curve) -> Markup {
    let points: Vec<(&Point, &TimeShares)> =
        curve.points.iter().filter_map(|point| Some((point, point.shares.as_ref()?))).collect();
    markup! {
        @if !points.is_empty() {
            figure.shares {
                figcaption { (CAPTION) }
                (key())
                div.bars { @for (point, shares) in points { (bar(point, shares)) } }
            }
        }
    }
}

fn bar(point: &Point, shares: &TimeShares) -> Markup {
    let words: Vec<String> = parts(shares).iter().map(|(name, share)| format!("{name} {}", percent(*share))).collect();
    markup! {
        span.bar-label aria-hidden="true" { (point.tasks) }
        div.bar role="img" aria-label={ (point.tasks) " tasks: " (words.join(", ")) } title=(words.join(", ")) {
            @for (name, share) in parts(shares) {
                @if share > 0.0 {
                    span.part.(name) style={ "width:" (format!("{:.2}", share * 100.0)) "%" } {
                        @if share >= ROOM_FOR_WORDS { span.words { (name) " " (format!("{:.0} %", share * 100.0)) } }
                    }
                }
            }
        }
    }
}
