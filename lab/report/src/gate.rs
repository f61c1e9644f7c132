//! A gate's result in words: whether it is open, then a line for each finding that closes it or that passes. No line is folded: logs of CI are searched line
//! by line.

use crate::sheet::Sheet;
use crate::style::{Style, Tone};
use faultline_model::gate::Gate;

/// The result. `if_open`: what is said after `gate: open,`, and its tone. `words`: the line of a finding.
pub(crate) fn told<F>(gate: &Gate<F>, if_open: (Tone, &str), words: impl Fn(&F) -> String, style: &Style) -> String {
    let mut sheet = Sheet::new(style);
    if gate.is_open() {
        let (tone, text) = if_open;
        sheet.paragraph(Some(tone), "", &format!("gate: open, {text}"));
    } else {
        sheet.paragraph(Some(Tone::Bad), "", "gate: closed");
    }
    for found in &gate.closed_by {
        sheet.line(&format!("  {}", words(found)));
    }
    for found in &gate.noted {
        sheet.line(&format!("  passes: {}", words(found)));
    }
    sheet.text
}
