//! The page of jobs: commits to measure again, and steps to bisect, as readers requested.

use super::{further_link, live_line, page};
use crate::escape::one_line;
use crate::history::words;
use crate::page::delivery::Site;
use crate::page::element::{self, badge};
use crate::runs::{ended, progress};
use crate::table::{Column, ResultTable};
use faultline_record::commit::short_name;
use faultline_record::job::{Job, JobState, JobWork};
use faultline_record::record::RunLine;
use faultline_stats::history::HistorySeries;
use maud::{Markup, html as markup};

/// A job with its history.
#[derive(Debug, Clone, Copy)]
pub struct JobRow<'a> {
    /// The job.
    pub job: &'a Job,
    /// The history with its identifier; `None` if its runs were deleted.
    pub history: Option<(&'a str, &'a HistorySeries)>,
    /// The unfinished run of the history, while a machine works on the job.
    pub open: Option<&'a RunLine>,
}

/// Content of the page of jobs.
#[derive(Debug, Clone)]
pub struct JobsPage<'a> {
    /// The jobs, newest first.
    pub jobs: Vec<JobRow<'a>>,
    /// Address of the next jobs, if any.
    pub older: Option<String>,
    /// True if the reader may request and withdraw work.
    pub may_ask: bool,
}

/// The page of jobs.
pub fn jobs_page(shown: &JobsPage<'_>, site: &Site) -> String {
    let about = markup! {
        p.standing {
            "Work that readers requested. `faultline history work` does it, on the machine that measures the history."
        }
    };
    let goes_on = shown.jobs.iter().any(|row| row.job.state == JobState::Taken);
    let rows = shown.jobs.iter().map(|row| (*row, shown.may_ask, site));
    let parts = markup! {
        (live_line(goes_on, site))
        section #jobs {
            @if shown.jobs.is_empty() { p.nothing { "No job was requested." } }
            @else { (ResultTable::new(columns(), rows).html("Jobs, newest first")) }
            (further_link(shown.older.as_deref(), "Older jobs"))
        }
    };
    page(site, "Jobs", about, parts)
}

type Row<'a> = (JobRow<'a>, bool, &'a Site);

fn columns<'a>() -> Vec<Column<Row<'a>>> {
    vec![
        Column::right("job", |(row, ..): &Row<'_>, _| row.job.id.to_string()).row_heading(),
        Column::page("history", |(JobRow { job, history, .. }, _, site): &Row<'_>| {
            markup! {
                @match history {
                    Some((id, series)) => {
                        a href=(site.history(id)) { (element::name(&job.series.subject)) }
                        div.about { (one_line(&words::measured_of(series))) }
                    }
                    None => { (element::name(&job.series.subject)) }
                }
            }
        }),
        Column::page("work", |(row, ..): &Row<'_>| work(&row.job.work)),
        Column::page("state", |(row, may_ask, site): &Row<'_>| state(row, *may_ask, site)),
        Column::page("requested", |(JobRow { job, .. }, ..): &Row<'_>| {
            markup! { (element::time(job.asked)) div.about { "by " (one_line(&job.asked_by)) } }
        }),
    ]
}

fn work(work: &JobWork) -> Markup {
    markup! {
        @match work {
            JobWork::Measure { commit } => { "measure " code { (short_name(commit)) } " again" }
            JobWork::Bisect { place } => {
                "bisect " code { (short_name(&place.earliest)) } " … " code { (short_name(&place.latest)) }
            }
        }
    }
}

fn state(JobRow { job, open, .. }: &JobRow<'_>, may_ask: bool, site: &Site) -> Markup {
    let (class, sign) = match job.state {
        JobState::Waiting | JobState::Withdrawn => ("quiet", "•"),
        JobState::Taken => ("partly", "…"),
        JobState::Done => ("good", "✓"),
        JobState::Failed => ("bad", "!"),
    };
    markup! {
        (badge(class, sign, job.state.word()))
        @if let Some(worker) = &job.worker { div.about { "on " (one_line(worker)) } }
        @if let Some(open) = open {
            div.about { a href=(site.run(open.id)) { "run " (open.id) } ": " (ended(open)) " executions" (progress(open)) }
        }
        @if let Some(run) = job.run { div.about { a href=(site.run(run)) { "run " (run) } } }
        @if let Some(problem) = &job.problem { div.about { (one_line(problem)) } }
        @if may_ask && job.state == JobState::Waiting {
            form.buttons data-post=(site.withdrawn(job.id)) {
                button type="submit" { "Withdraw" }
                p.hint role="status" {}
            }
        }
    }
}
