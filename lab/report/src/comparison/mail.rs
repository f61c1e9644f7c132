//! The answer of `faultline try` as a mail: Markdown that also reads as plain text, with lines of
//! at most 78 columns and without paths of this machine.

use super::change::level;
use super::{legend, words};
use crate::escape::{escape_markdown, one_line};
use crate::quantity::QuantityWords;
use crate::style::UNICODE;
use faultline_record::record::RunHead;
use faultline_record::subject::{BuildResult, SubjectKind};
use faultline_stats::comparison::{ComparedWorkload, Comparison};
use faultline_stats::workload_comparison::Answer;

/// Columns of a mail that survive two levels of quoting in 80 columns.
const COLUMNS: usize = 78;

/// The mail about patches; `None` for any other comparison.
pub fn comparison_mail(compared: &Comparison, head: &RunHead) -> Option<String> {
    let [base, patched] = head.subjects.as_slice() else { return None };
    let is_built = |build: &Option<BuildResult>| *build == Some(BuildResult::Built);
    let is_of_patches = base.commit.is_some() && patched.commit.is_none();
    let settings = head.settings.comparison()?;
    if !is_of_patches || !is_built(&base.build) || !is_built(&patched.build) {
        return None;
    }
    let mut mail = wrapped("", &answer(compared));
    mail.push('\n');
    let mut item = |text: String| mail.push_str(&wrapped("- ", &text));
    item(format!("patched: {}", compared.b.name));
    item(format!("base: {}", compared.a.name));
    if let SubjectKind::Program { argv } = &base.what {
        item(format!("command: {}", argv.join(" ")));
    }
    for workload in &compared.workloads {
        item(values(workload, settings.quantity.heading(), settings.level));
    }
    if let Some(machine) = words::machine(compared) {
        item(format!("machine: {machine}"));
    }
    for failure in words::failures(compared, &UNICODE) {
        item(format!("failed, side {failure}"));
    }
    for caution in legend::cautions(compared) {
        item(format!("caution, {}: {}", caution.code.word(), caution.text));
    }
    item("Local changes of the checkout are not included in either side.".to_owned());
    Some(mail)
}

fn answer(compared: &Comparison) -> String {
    let Some(workload) = compared.workloads.first() else {
        return "Neither build could be measured.".to_owned();
    };
    let comparison = &workload.comparison;
    let basis = words::basis(comparison, &UNICODE);
    let sentence = match comparison.answer {
        Answer::Faster | Answer::Slower => {
            format!("The patched build is {} than its base: {basis}", words::answer_word(comparison.answer))
        }
        Answer::Equal => {
            let margin = words::margin(comparison, &UNICODE);
            format!("The patched build and its base are equal within {margin}: {basis}")
        }
        Answer::Inconclusive => format!("Inconclusive: {basis}"),
    };
    let by_cpu_time = words::by_cpu_time(&workload.details, &UNICODE);
    let by_cpu_time = by_cpu_time.map_or_else(String::new, |text| format!("; {text}"));
    format!("{}{by_cpu_time}.", sentence.trim_end_matches('.'))
}

/// `time: 30.12 ms → 901.2 ms, medians of 10 + 10 runs in random order, 95 % confidence level`.
fn values(workload: &ComparedWorkload, quantity: &str, confidence: f64) -> String {
    let comparison = &workload.comparison;
    let [a, b] = words::medians(comparison, &one_line(&comparison.unit), &UNICODE);
    format!(
        "{quantity}: {a} {} {b}, medians of {} in random order, {} confidence level",
        UNICODE.arrow,
        words::units(comparison),
        level(confidence)
    )
}

/// A paragraph or an item in short lines.
fn wrapped(bullet: &str, text: &str) -> String {
    let options = textwrap::Options::new(COLUMNS)
        .initial_indent(bullet)
        .subsequent_indent(if bullet.is_empty() { "" } else { "  " })
        .word_splitter(textwrap::WordSplitter::NoHyphenation);
    let escaped = escape_markdown(&one_line(text));
    textwrap::wrap(&escaped, options).join("\n") + "\n"
}
