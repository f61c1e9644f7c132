//! Figures as elements: the words that people read around the exact number that programs read (`<data value>`).

use crate::figure::{self, Scale};
use crate::one_line::one_line;
use crate::style::UNICODE;
use faultline_model::estimate::Estimate;
use maud::{Markup, html as markup};

/// The name of a case or workload, which may break between its parts: `zero_fill:base`.
pub(crate) fn name(name: &str) -> Markup {
    let name = one_line(name);
    markup! { @for part in name.split_inclusive([':', '/']) { (part) wbr; } }
}

/// What stands where there is no figure.
pub(crate) fn none() -> Markup {
    markup! { span.none { "–" } }
}

/// A number in words, with the exact one.
pub(crate) fn data(exact: f64, words: &str) -> Markup {
    markup! { data value=(exact) { (words) } }
}

/// Median with its unit.
pub(crate) fn median(estimate: Option<Estimate>, unit: &str) -> Markup {
    estimate.map_or_else(none, |e| data(e.median, &figure::quantity(e.median, unit, &UNICODE)))
}

/// Low to high in the scale of the median.
pub(crate) fn interval(estimate: Option<Estimate>, unit: &str) -> Markup {
    estimate.map_or_else(none, |e| {
        let scale = Scale::of(e.median, unit, &UNICODE);
        let prefix = scale.span_suffix();
        markup! { (data(e.low, &scale.number(e.low))) " … " (data(e.high, &scale.number(e.high))) @if !prefix.is_empty() { " " (prefix) } }
    })
}

/// Median of a share.
pub(crate) fn share(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| data(e.median, &figure::percent(e.median)))
}

/// Low to high of a share.
pub(crate) fn share_interval(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| {
        markup! { (data(e.low, &format!("{:.1}", e.low * 100.0))) " … " (data(e.high, &figure::percent(e.high))) }
    })
}

/// A plain share, without an interval.
pub(crate) fn plain_share(share: f64) -> Markup {
    data(share, &figure::percent(share))
}

/// A whole number.
pub(crate) fn count(count: u32) -> Markup {
    data(f64::from(count), &count.to_string())
}

/// A plain number.
pub(crate) fn number(value: f64) -> Markup {
    data(value, &figure::quantity(value, "", &UNICODE))
}

/// A number without a prefix.
pub(crate) fn plain(value: f64) -> Markup {
    data(value, &figure::plain(value))
}

/// A number in a unit.
pub(crate) fn quantity(value: f64, unit: &str) -> Markup {
    data(value, &figure::quantity(value, unit, &UNICODE))
}

/// Number of repeats, and what the interval of so many covers.
pub(crate) fn n(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| count(e.n))
}

/// Probability with which the interval covers the true median.
pub(crate) fn coverage(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| data(e.coverage, &figure::percent(e.coverage)))
}
