//! Elements of pages: figures with their exact numbers, names, dates, badges, and the anchors of
//! cards.
//!
//! Figures are `data` elements: people read the text, the script sorts by the exact value.

use crate::escape::one_line;
use crate::facts;
use crate::figure::{self, Scale};
use crate::style::{Tone, UNICODE};
use faultline_record::cell::Case;
use faultline_record::commit::{CommitInfo, short_name};
use faultline_record::facts::FactValue;
use faultline_record::forge::commit_page;
use faultline_record::time::UnixMillis;
use faultline_stats::comparison::ComparedWorkload;
use faultline_stats::estimate::Estimate;
use maud::{Markup, html as markup};
use std::fmt::Write as _;

/// A case or workload. The name may break after its separators: `zero_fill:base`.
pub(crate) fn name(name: &str) -> Markup {
    let name = one_line(name);
    markup! { @for part in name.split_inclusive([':', '/']) { (part) wbr; } }
}

/// A missing figure.
pub(crate) fn none() -> Markup {
    markup! { span.none { (UNICODE.none) } }
}

/// A text, or the sign of a missing figure.
pub(crate) fn text(text: Option<&str>) -> Markup {
    text.map_or_else(none, |text| markup! { (one_line(text)) })
}

/// A number in words, with the exact value.
pub(crate) fn data(exact: f64, words: &str) -> Markup {
    markup! { data value=(exact) { (words) } }
}

/// The median with its unit.
pub(crate) fn median(estimate: Option<Estimate>, unit: &str) -> Markup {
    estimate.map_or_else(none, |e| quantity(e.median, unit))
}

/// The interval in the scale of the median.
pub(crate) fn interval(estimate: Option<Estimate>, unit: &str) -> Markup {
    estimate.map_or_else(none, |e| {
        let scale = Scale::of(e.median, unit, &UNICODE);
        let prefix = scale.span_suffix();
        markup! {
            (data(e.low, &scale.number(e.low))) " … " (data(e.high, &scale.number(e.high)))
            @if !prefix.is_empty() { " " (prefix) }
        }
    })
}

/// The median of a share.
pub(crate) fn share(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| plain_share(e.median))
}

/// The interval of a share.
pub(crate) fn share_interval(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| {
        markup! { (data(e.low, &format!("{:.1}", e.low * 100.0))) " … " (plain_share(e.high)) }
    })
}

/// A share without an interval.
pub(crate) fn plain_share(share: f64) -> Markup {
    data(share, &figure::percent(share))
}

/// A whole number.
pub(crate) fn count(count: u32) -> Markup {
    data(f64::from(count), &count.to_string())
}

/// A number with an SI prefix.
pub(crate) fn number(value: f64) -> Markup {
    quantity(value, "")
}

/// A number with a unit.
pub(crate) fn quantity(value: f64, unit: &str) -> Markup {
    data(value, &figure::quantity(value, unit, &UNICODE))
}

/// Sample size of an estimate.
pub(crate) fn n(estimate: Option<Estimate>) -> Markup {
    estimate.map_or_else(none, |e| count(e.n))
}

/// Transfers per operation.
pub(crate) fn transfers(exact: f64) -> Markup {
    data(exact, &figure::transfers(exact))
}

/// A date and time.
pub(crate) fn time(at: UnixMillis) -> Markup {
    markup! { time datetime=(figure::iso_time(at)) { (figure::date_time(at)) } }
}

/// The day of a commit.
pub(crate) fn day(commit: &CommitInfo) -> String {
    figure::day(UnixMillis(commit.committed_s.saturating_mul(1000)))
}

/// A link to a commit, by its short name.
pub(crate) fn commit(address: &str, id: &str) -> Markup {
    markup! { a href=(address) { code { (short_name(id)) } } }
}

/// A link to a commit on its repository's forge, named by the forge's host; nothing without one.
/// `page`: of the repository.
pub(crate) fn on_forge(page: Option<&str>, id: &str) -> Markup {
    let address = page.and_then(|page| commit_page(page, id));
    let host = address.as_deref().and_then(|address| address.split('/').nth(2));
    markup! {
        @if let (Some(address), Some(host)) = (&address, host) {
            " " a.forge href=(address) rel="noreferrer" aria-label={ (short_name(id)) " on " (host) } { (host) }
        }
    }
}

/// A fact's name with its key.
pub(crate) fn fact_name(key: &str) -> Markup {
    markup! { (facts::name(key)) br; small { code { (one_line(key)) } } }
}

/// A fact's value.
pub(crate) fn fact(key: &str, value: Option<&FactValue>) -> Markup {
    value.map_or_else(none, |value| markup! { (facts::value(key, value, &UNICODE)) })
}

/// The answer of a page in one sentence.
pub(crate) fn answer((tone, sentence): (Tone, String)) -> Markup {
    markup! { p #answer.answer.(tone_class(tone)) { (one_line(&sentence)) } }
}

/// A badge. Its sign carries the meaning without colour. `class`: `good`, `bad`, `partly` or
/// `quiet`.
pub(crate) fn badge(class: &str, sign: &str, text: &str) -> Markup {
    markup! { span.badge.(class) { span.sign aria-hidden="true" { (sign) } " " (one_line(text)) } }
}

/// The CSS class of a tone.
pub(crate) fn tone_class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Bad => "bad",
        Tone::Middling => "partly",
        Tone::Title | Tone::Quiet => "quiet",
    }
}

/// The anchor of a curve: `curve-zero_fill:base:thread`. It depends on the case only, so links
/// survive a new page.
pub(crate) fn case_anchor(case: &Case) -> String {
    format!("curve-{}", in_address(&format!("{case}:{}", case.mode.word())))
}

/// The anchor of each workload: `workload-zero_fill:base@4`. Equal names, which other tools may
/// give, get a number.
pub(crate) fn workload_anchors(workloads: &[ComparedWorkload]) -> Vec<String> {
    let mut anchors: Vec<String> = Vec::new();
    for ComparedWorkload { comparison, details } in workloads {
        let tasks = details.tasks.map(|tasks| format!("@{tasks}")).unwrap_or_default();
        let first = format!("workload-{}", in_address(&format!("{}{tasks}", comparison.name)));
        let numbered = (2..).map(|number| format!("{first}~{number}"));
        let free = std::iter::once(first.clone()).chain(numbered).find(|anchor| !anchors.contains(anchor));
        anchors.extend(free);
    }
    anchors
}

/// Text that is valid in a URL fragment and in an `id`: other bytes become `%` and two hexadecimal
/// digits.
fn in_address(text: &str) -> String {
    let mut safe = String::new();
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' | b'@' => {
                safe.push(char::from(byte))
            }
            _ => write!(safe, "%{byte:02X}").expect("writing to a string"),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;
    use faultline_record::cell::TaskMode;

    #[test]
    fn a_curve_is_called_after_its_case() {
        let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Thread };
        assert_eq!(case_anchor(&case), "curve-zero_fill:base:thread");
    }

    #[test]
    fn what_an_address_cannot_hold_is_written_as_bytes() {
        assert_eq!(in_address("gcc \"-O2\" #1 50% ü"), "gcc%20%22-O2%22%20%231%2050%25%20%C3%BC");
    }
}
