//! The page of a run: the same as the file that `faultline report` writes, or its table where there is no such file.

use super::{Page, PageProblem};
use crate::api::number;
use crate::histories::Snapshot;
use crate::query::Query;
use crate::rows::Rows;
use crate::state::State;
use axum::extract::{Path, RawQuery, State as Shared};
use faultline_experiment::{Concluded, Conclusion, stored};
use faultline_model::record::RunId;
use faultline_report::site::{Site, comparison_of_site, run_of_site, text_page};
use faultline_report::{Format, Style};
use faultline_stats::history::{HistoryRun, series_of_run};

/// Commits of a run of a history in a page.
const COMMITS: usize = 1000;

pub(super) async fn run(
    Shared(state): Shared<State>,
    Path(run): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["from"])?;
    let rows = Rows::parse(&query, COMMITS, COMMITS)?;
    let run = RunId(number(&run, "run")?);
    let now = state.histories.now().await?;
    let shown = move |places: &_| Ok(shown(&stored::conclusion(Some(run), places)?, rows, &now, &Site::served()));
    Ok(Page(state.reader.read(shown).await?))
}

/// The page of a conclusion. `rows`: which commits it has, if the run is one of a history.
pub(crate) fn shown(conclusion: &Conclusion, rows: Rows, now: &Snapshot, site: &Site) -> String {
    let head = &conclusion.head;
    let style = &Style { unicode: true, ..Style::PLAIN };
    match &conclusion.what {
        Concluded::Figures(summary) => run_of_site(summary, head, site),
        Concluded::Comparison(comparison) => comparison_of_site(comparison, site),
        Concluded::Fitness(fitness) => comparison_of_site(&fitness.compared, site),
        Concluded::Drill(drill) => {
            text_page(head, &faultline_report::drill(drill, head, Format::Table, style), None, None, site)
        }
        Concluded::History(results) => {
            let series = series_of_run(&HistoryRun { head, results });
            let (range, next) = rows.among(series.as_ref().map_or(0, |series| series.points.len()));
            let text = series.map(|series| faultline_report::history_part(&series, &range, style)).unwrap_or_default();
            let further = next.map(|from| format!("?from={from}"));
            let whole = now.histories.iter().find(|history| history.has_run(head.id));
            text_page(head, &text, whole.map(|history| history.id.as_str()), further.as_deref(), site)
        }
    }
}
