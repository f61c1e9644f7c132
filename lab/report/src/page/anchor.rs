//! What the parts of a page are called in addresses: after what they show, so that a link is good on the next page too.

use faultline_model::cell::Case;
use faultline_model::comparison::ComparedWorkload;
use std::fmt::Write as _;

/// `curve-zero_fill:base:thread`.
pub(super) fn of_case(case: &Case) -> String {
    format!("curve-{}", in_address(&format!("{case}:{}", case.mode.word())))
}

/// `workload-zero_fill:base@4`, one for each workload. Other tools may give two the same name: the second gets a number.
pub(super) fn of_workloads(workloads: &[ComparedWorkload]) -> Vec<String> {
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

/// Text as it can stand both in an address's fragment and in an `id`: what is special in either is written as `%` and two digits for each byte.
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
    use faultline_model::cell::TaskMode;

    #[test]
    fn a_curve_is_called_after_its_case() {
        let case = Case { workload: "zero_fill".into(), variant: "base".into(), mode: TaskMode::Thread };
        assert_eq!(of_case(&case), "curve-zero_fill:base:thread");
    }

    #[test]
    fn what_an_address_cannot_hold_is_written_as_bytes() {
        assert_eq!(in_address("gcc \"-O2\" #1 50% ü"), "gcc%20%22-O2%22%20%231%2050%25%20%C3%BC");
    }
}
