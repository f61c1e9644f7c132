//! A result as table, page and file.

use crate::arguments::stored::Shown;
use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::{Concluded, Conclusion};
use faultline_report::{Format, Style};
use faultline_stats::history::{HistoryRun, series_of_run};
use std::path::Path;

/// Amount of detail of a table on standard output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Detail {
    /// Everything.
    Whole,
    /// The answer of a comparison in a few lines.
    Brief,
}

/// The form that a file's extension stands for. Fails for other extensions.
pub(super) fn form_of_file(path: &Path) -> Result<Shown, Failure> {
    Shown::of_file(path).ok_or_else(|| {
        Failure::usage(
            format!("the extension of {} names no format", path.display()),
            "end it with .html, .md, .csv, .json or .txt",
        )
    })
}

/// Writes a conclusion to a file, in this form or in that of its extension; `-` is standard output.
/// Fails if the conclusion has no such form, or the file cannot be written.
pub(super) fn write(conclusion: &Conclusion, path: &Path, form: Option<Shown>) -> Result<(), Failure> {
    let text = text(conclusion, form.map_or_else(|| form_of_file(path), Ok)?, &Style::PLAIN)?;
    write_text(&text, path)
}

/// Writes a text to a file; to standard output for `-`. Fails if it cannot be written.
pub(super) fn write_text(text: &str, path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::print(text);
    }
    output::write_file(path, text)?;
    failure::warn(&format!("written: {}", path.display()));
    Ok(())
}

/// A conclusion in this form. Fails if it has no such form.
pub(super) fn text(conclusion: &Conclusion, form: Shown, style: &Style) -> Result<String, Failure> {
    match form {
        Shown::Table(format) => Ok(table(conclusion, format, style)),
        Shown::Folded => folded(conclusion),
        Shown::Page => page(conclusion),
    }
}

/// The table of a conclusion.
pub(super) fn table(conclusion: &Conclusion, format: Format, style: &Style) -> String {
    match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::run_table(summary, format, style),
        Concluded::Comparison(comparison) => {
            let mail = (format == Format::Markdown)
                .then(|| faultline_report::comparison_mail(comparison, &conclusion.head))
                .flatten();
            mail.unwrap_or_else(|| faultline_report::comparison(comparison, format, style))
        }
        Concluded::Fitness(fitness) => faultline_report::fitness(fitness, format, style),
        Concluded::Bisect(found) => faultline_report::bisect(found, &conclusion.head, format, style),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head: &conclusion.head, results });
            faultline_report::history(series.as_slice(), format, style)
        }
    }
}

/// The table of a conclusion on standard output.
pub(super) fn detailed(conclusion: &Conclusion, format: Format, detail: Detail, style: &Style) -> String {
    match (&conclusion.what, format, detail) {
        (Concluded::Comparison(comparison), Format::Table, Detail::Brief) => {
            faultline_report::comparison_brief(comparison, style)
        }
        _ => table(conclusion, format, style),
    }
}

/// The folded stack traces of a conclusion. Fails if it has none.
fn folded(conclusion: &Conclusion) -> Result<String, Failure> {
    let stacks = match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::folded(summary),
        Concluded::Comparison(_) | Concluded::Fitness(_) | Concluded::Bisect(_) | Concluded::History(_) => None,
    };
    let hint = "`faultline lens program` and `faultline lens kernel` sample callers; `--format table` shows this run";
    stacks.ok_or_else(|| Failure::usage("the run has no callers of transfers", hint))
}

/// The page of a conclusion. Fails if it has none.
fn page(conclusion: &Conclusion) -> Result<String, Failure> {
    match &conclusion.what {
        Concluded::Figures(summary) => Ok(faultline_report::html(summary, &conclusion.head)),
        Concluded::Comparison(comparison) => Ok(faultline_report::comparison_html(comparison)),
        Concluded::Fitness(fitness) => Ok(faultline_report::comparison_html(&fitness.compared)),
        Concluded::Bisect(found) => Ok(faultline_report::site::bisect_html(found, &conclusion.head)),
        Concluded::History(_) => Err(no_page("a history of commits")),
    }
}

/// The failure for a conclusion that has tables and no page.
pub(super) fn no_page(what: &str) -> Failure {
    Failure::usage(format!("{what} has no page"), "`faultline show -o FILE.md` or `FILE.json` writes all of it")
}
