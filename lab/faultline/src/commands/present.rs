//! A conclusion as table and page.

use crate::failure::{self, Failure};
use crate::output;
use faultline_experiment::{Concluded, Conclusion, Places, find_run, stored};
use faultline_report::Format;
use faultline_stats::history::{HistoryRun, series_of_run};
use std::path::Path;

/// The conclusion of a run in the database; the newest run's if `None`. Fails if there is none.
pub(super) fn stored(run: Option<&str>, places: &Places) -> Result<Conclusion, Failure> {
    let run = run.map(|run| find_run(run, places)).transpose()?;
    Ok(stored::conclusion(run, places)?)
}

/// Its table.
pub(super) fn table(conclusion: &Conclusion, format: Format) -> String {
    let style = output::style();
    match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::run_table(summary, format, &style),
        Concluded::Comparison(comparison) => faultline_report::comparison(comparison, format, &style),
        Concluded::Fitness(fitness) => faultline_report::fitness(fitness, format, &style),
        Concluded::Drill(drill) => faultline_report::drill(drill, &conclusion.head, format, &style),
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head: &conclusion.head, results });
            faultline_report::history(series.as_slice(), format, &style)
        }
    }
}

/// Its folded stacks. Fails if it has none.
pub(super) fn folded(conclusion: &Conclusion) -> Result<String, Failure> {
    let stacks = match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::folded(summary),
        Concluded::Comparison(_) | Concluded::Fitness(_) | Concluded::Drill(_) | Concluded::History(_) => None,
    };
    let hint =
        "`faultline lens program` and `faultline lens kernel` sample callers; `--format table` shows what this run has";
    stacks.ok_or_else(|| Failure::usage("the run has no callers of transfers", hint))
}

/// Its page. Fails if it has none.
pub(super) fn page(conclusion: &Conclusion) -> Result<String, Failure> {
    Ok(match &conclusion.what {
        Concluded::Figures(summary) => faultline_report::html(summary, &conclusion.head),
        Concluded::Comparison(comparison) => faultline_report::comparison_html(comparison),
        Concluded::Fitness(fitness) => faultline_report::comparison_html(&fitness.compared),
        Concluded::Drill(_) => return Err(no_page()),
        Concluded::History(_) => return Err(no_page_of_commits()),
    })
}

/// A search along a line of commits has tables, and no page.
pub(super) fn no_page() -> Failure {
    Failure::usage(
        "a search along a line of commits has no page",
        "`--format markdown` or `--format json` has all that it found",
    )
}

/// A history has tables, and no page.
pub(super) fn no_page_of_commits() -> Failure {
    Failure::usage("a history of commits has no page", "`--format markdown` or `--format json` has all of it")
}

/// Writes a page; to standard output for `-`. Fails if it cannot be written.
pub(super) fn write_page(page: &str, path: &Path) -> Result<(), Failure> {
    if path == Path::new("-") {
        return output::print(page);
    }
    output::write_file(path, page)?;
    failure::warn(&format!("page: {}", path.display()));
    Ok(())
}
