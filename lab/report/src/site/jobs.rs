//! What readers asked for: that a commit is measured again, or that the commits of a change are searched. And the forms by which those with a token ask; the script sends them as JSON.

use super::badge::badge;
use super::frame::page;
use super::live;
use super::runs::progress;
use crate::history::words;
use crate::moment;
use crate::one_line::one_line;
use crate::page::delivery::Site;
use crate::page::document::table;
use crate::page::value;
use crate::runs::ended;
use faultline_model::commit::short_name;
use faultline_model::history::{HistorySeries, HistoryStep};
use faultline_model::job::{Job, JobState, JobWork};
use faultline_model::record::RunLine;
use maud::{Markup, html as markup};

/// A job, with its history.
#[derive(Debug, Clone, Copy)]
pub struct JobRow<'a> {
    /// The job.
    pub job: &'a Job,
    /// Identifier of the history, and the history; `None` if its runs were deleted.
    pub history: Option<(&'a str, &'a HistorySeries)>,
    /// Of a job that a machine does, the unfinished run of the history.
    pub open: Option<&'a RunLine>,
}

/// What the page of jobs shows.
#[derive(Debug, Clone)]
pub struct JobsPage<'a> {
    /// The jobs, the newest first.
    pub jobs: Vec<JobRow<'a>>,
    /// The address with the jobs that follow, if there are any.
    pub older: Option<String>,
    /// Whether the reader may ask for work, and withdraw it.
    pub may_ask: bool,
}

/// The page.
pub fn jobs_page(shown: &JobsPage<'_>, site: &Site) -> String {
    let about = markup! { p.standing { "What readers asked for. `faultline history work` does it, on the machine that measures the history." } };
    let goes_on = shown.jobs.iter().any(|row| row.job.state == JobState::Taken);
    let parts = markup! {
        (live::line(goes_on, site))
        section #jobs {
            @if shown.jobs.is_empty() { p.nothing { "Nobody asked for anything." } } @else { (list(shown, site)) }
            @if let Some(older) = &shown.older { p { a href=(older) { "Older jobs" } } }
        }
    };
    page(site, "Jobs", about, parts)
}

fn list(shown: &JobsPage<'_>, site: &Site) -> Markup {
    let head = markup! {
        th.number scope="col" { "job" }
        th scope="col" { "history" }
        th scope="col" { "what" }
        th scope="col" { "state" }
        th scope="col" { "asked for" }
    };
    let body = markup! { @for row in &shown.jobs { (line(row, shown.may_ask, site)) } };
    table("Jobs, the newest first", false, head, body)
}

fn line(JobRow { job, history, open }: &JobRow<'_>, may_ask: bool, site: &Site) -> Markup {
    markup! {
        tr {
            th.number scope="row" { (job.id) }
            td {
                @match history {
                    Some((id, series)) => {
                        a href=(site.history(id)) { (value::name(&job.series.subject)) }
                        div.about { (one_line(&words::measured_of(series))) }
                    }
                    None => { (value::name(&job.series.subject)) }
                }
            }
            td { (what(&job.work)) }
            td {
                (state(job.state))
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
            td {
                time datetime=(moment::iso(job.asked)) { (moment::words(job.asked)) }
                div.about { "by " (one_line(&job.asked_by)) }
            }
        }
    }
}

fn what(work: &JobWork) -> Markup {
    markup! {
        @match work {
            JobWork::Measure { commit } => { "measure " code { (short_name(commit)) } " again" }
            JobWork::Drill { place } => {
                "search " code { (short_name(&place.earliest)) } " … " code { (short_name(&place.latest)) }
            }
        }
    }
}

fn state(state: JobState) -> Markup {
    let (class, sign) = match state {
        JobState::Waiting | JobState::Withdrawn => ("quiet", "•"),
        JobState::Taken => ("partly", "…"),
        JobState::Done => ("good", "✓"),
        JobState::Failed => ("bad", "!"),
    };
    badge(class, sign, state.word())
}

/// The form that asks for a search of a step's commits.
pub(super) fn drill_form(id: &str, series: &HistorySeries, step: &HistoryStep, site: &Site) -> Markup {
    let commit = series.commit(step.by).map_or("", |commit| commit.id.as_str());
    ask_form(id, "drill", commit, "Search its commits", site)
}

/// The form that asks for work on a history with that identifier. `work` and `commit`: as the API takes them.
pub(super) fn ask_form(id: &str, work: &str, commit: &str, label: &str, site: &Site) -> Markup {
    markup! {
        form.buttons data-post=(site.jobs_of(id)) data-then=(site.jobs()) {
            input type="hidden" name="work" value=(work);
            input type="hidden" name="commit" value=(commit);
            button type="submit" { (label) }
            p.hint role="status" {}
        }
    }
}
