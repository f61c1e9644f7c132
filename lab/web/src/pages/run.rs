//! The page of a run: the same as the file that `faultline report` writes, or its table where there is no such file.

use super::{Page, PageProblem};
use crate::api::number;
use crate::histories::Snapshot;
use crate::query::Query;
use crate::state::State;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::{Concluded, Conclusion, stored};
use faultline_model::record::RunId;
use faultline_report::site::{Site, comparison_of_site, run_of_site, text_page};
use faultline_report::{Format, Style};
use faultline_stats::history::{HistoryRun, series_of_run};

pub(super) async fn run(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    Query::parse(query.as_deref(), &[])?;
    let run = RunId(number(&run, "run")?);
    let now = state.histories.now().await?;
    let shown = move |places: &_| Ok(shown(&stored::conclusion(Some(run), places)?, &now, &Site::served()));
    Ok(Page(state.reader.read(shown).await?))
}

/// The page of a conclusion.
pub(crate) fn shown(conclusion: &Conclusion, now: &Snapshot, site: &Site) -> String {
    let head = &conclusion.head;
    let style = &Style { unicode: true, ..Style::PLAIN };
    match &conclusion.what {
        Concluded::Figures(summary) => run_of_site(summary, head, site),
        Concluded::Comparison(comparison) => comparison_of_site(comparison, site),
        Concluded::Fitness(fitness) => comparison_of_site(&fitness.compared, site),
        Concluded::Drill(drill) => {
            text_page(head, &faultline_report::drill(drill, head, Format::Table, style), None, site)
        }
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head, results });
            let text = faultline_report::history(series.as_slice(), Format::Table, style);
            let whole = now.histories.iter().find(|history| history.has_run(head.id));
            text_page(head, &text, whole.map(|history| history.id.as_str()), site)
        }
    }
}
