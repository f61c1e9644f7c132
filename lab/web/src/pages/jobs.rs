//! The list of what readers asked for, in pages.

use super::{Page, PageProblem};
use crate::query::Query;
use crate::state::State;
use axum::extract::{RawQuery, State as Shared};
use faultline_experiment::jobs;
use faultline_model::job::JobId;
use faultline_report::site::{JobRow, JobsPage, Site, jobs_page};

/// Jobs in a page.
const MOST: usize = 200;

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &["before"])?;
    let before = query.number("before", 1, i64::MAX)?.map(JobId);
    let mut jobs = state.reader.read(move |places| jobs::list(before, MOST + 1, places)).await?;
    let is_more = jobs.len() > MOST;
    jobs.truncate(MOST);
    let now = state.histories.now().await?;
    let row = |job| {
        let history = now.named(job);
        JobRow { job, history: history.map(|history| (history.id.as_str(), &history.series)), open: now.run_of(job) }
    };
    let page = JobsPage {
        jobs: jobs.iter().map(row).collect(),
        older: jobs.last().filter(|_| is_more).map(|job| format!("?before={}", job.id)),
        may_ask: state.may_mark,
    };
    Ok(Page(jobs_page(&page, &Site::served())))
}
