//! Jobs: work on histories that readers with a token request. The server measures nothing;
//! `faultline history work` does jobs on the machine that measures the history.

use super::changes::found;
use super::number;
use crate::database;
use crate::guard::Person;
use crate::operation::{COMMIT, Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::jobs::{self, JobAsked};
use faultline_experiment::place_of;
use faultline_record::job::{Job, JobId, JobWork};
use faultline_record::record::RunLine;
use faultline_report::site::{JobRow, JobsPage, Site, jobs_page};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Default number of jobs in an answer.
const USUAL: usize = 100;
/// Maximum number of jobs in an answer.
const MOST: i64 = 1000;
/// Jobs on a page.
const JOBS_ON_PAGE: usize = 200;

const LIST_FORMAT: &str = "faultline-jobs/1";
const ASK_FORMAT: &str = "faultline-job/1";

const BEFORE: Parameter = Parameter::integer("before", 1, i64::MAX, "Only jobs with a smaller number");

/// Lists jobs.
pub(super) const LIST: Operation = Operation::get("/jobs", "jobs", "Requested work, newest first")
    .takes(&[BEFORE, Parameter::limit(MOST, "Maximum number of jobs; by default 100")])
    .answers(&[schema_of::<Jobs>]);

/// Jobs, newest first.
#[derive(Serialize, JsonSchema)]
struct Jobs {
    #[schemars(extend("const" = LIST_FORMAT))]
    format: &'static str,
    jobs: Vec<Line>,
    /// `before` of the next request; null after the last jobs.
    next: Option<JobId>,
}

/// A job.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "JobLine")]
struct Line {
    #[serde(flatten)]
    job: Job,
    /// The unfinished run that measures a commit for the job, as in `/api/v1/runs`.
    open: Option<RunLine>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = LIST.query(query.as_deref())?;
    let (jobs, next) = jobs_before(&state, &query, query.number("limit")?.unwrap_or(USUAL)).await?;
    let now = state.histories.now().await?;
    let jobs = jobs.into_iter().map(|job| Line { open: now.run_of(&job).cloned(), job }).collect();
    Ok(Json(Jobs { format: LIST_FORMAT, jobs, next }).into_response())
}

pub(super) async fn page(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[BEFORE])?;
    let (jobs, next) = jobs_before(&state, &query, JOBS_ON_PAGE).await?;
    let now = state.histories.now().await?;
    let row = |job| {
        let history = now.named(job);
        JobRow { job, history: history.map(|history| (history.id.as_str(), &history.series)), open: now.run_of(job) }
    };
    let page = JobsPage {
        jobs: jobs.iter().map(row).collect(),
        older: next.map(|last| format!("?before={last}")),
        may_ask: state.may_mark,
    };
    Ok(Page(jobs_page(&page, &Site::served())))
}

/// At most `limit` jobs before the requested one, and the last of them if there are more.
async fn jobs_before(state: &State, query: &Query, limit: usize) -> Result<(Vec<Job>, Option<JobId>), Problem> {
    let before = query.number("before")?.map(JobId);
    let mut jobs = state.reader.read(move |places| jobs::list(before, limit + 1, places)).await?;
    let is_more = jobs.len() > limit;
    jobs.truncate(limit);
    let next = jobs.last().filter(|_| is_more).map(|job| job.id);
    Ok((jobs, next))
}

/// Requests work on a history.
pub(super) const ASK: Operation = Operation::post(
    "/histories/{history}/jobs",
    "askForWork",
    "Requests that a commit is measured again, or that the commits of a change are searched. `faultline history work` does it. \
     Needs a token",
)
.takes_body(
    schema_of::<Wish>,
    "it takes JSON like {\"work\": \"measure\", \"commit\": \"1f3a…\"}; work: measure, bisect; commit: the full name",
)
.succeeds(StatusCode::ACCEPTED)
.answers(&[schema_of::<Asked>])
.refuses(&[(StatusCode::TOO_MANY_REQUESTS, "Too many jobs wait")]);

/// Requested work.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewJob")]
struct Wish {
    work: Kind,
    /// Full name of the commit to measure, or of the change's first commit with the new level.
    #[schemars(extend("pattern" = COMMIT))]
    commit: String,
}

/// Kind of work.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(rename = "KindOfWork")]
enum Kind {
    /// Measure a commit again.
    Measure,
    /// Search the commits of a change.
    Bisect,
}

/// A job that waits or is being done.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RequestedJob")]
struct Asked {
    #[schemars(extend("const" = ASK_FORMAT))]
    format: &'static str,
    job: JobId,
    /// False if an equal job is unfinished.
    is_new: bool,
}

pub(super) async fn ask(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    ASK.query(query.as_deref())?;
    let Some(Extension(Person(person))) = person else { return Err(Problem::read_only()) };
    let Wish { work, commit } = ASK.parse(&headers, body)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    let work = match work {
        Kind::Measure if history.series.points.iter().any(|point| point.commit.id == commit) => {
            JobWork::Measure { commit }
        }
        Kind::Measure => {
            return Err(Problem::not_found(
                "the history has no such commit",
                "`/api/v1/histories/ID` lists its commits",
            ));
        }
        Kind::Bisect => {
            let step = found(&now, &id, &commit)?.step;
            let place = place_of(&history.series, step).map_err(|error| Problem::of(error, ""))?;
            JobWork::Bisect { place }
        }
    };
    let save = move |places: &_| jobs::ask(&history.series.name(), &work, &person, database::now(), places);
    let (job, is_new) = match state.reader.read(save).await? {
        JobAsked::New(job) => (job, true),
        JobAsked::Known(job) => (job, false),
        JobAsked::TooMany => {
            return Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many jobs wait",
                "do them with `faultline history work` on the machine that measures, or withdraw some",
            ));
        }
    };
    Ok((StatusCode::ACCEPTED, Json(Asked { format: ASK_FORMAT, job, is_new })).into_response())
}

/// Withdraws a job.
pub(super) const WITHDRAW: Operation =
    Operation::post("/jobs/{job}/withdraw", "withdraw", "Withdraws a waiting job. Needs a token")
        .succeeds(StatusCode::NO_CONTENT)
        .refuses(&[(StatusCode::CONFLICT, "No such job waits")]);

pub(super) async fn withdraw(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path(job): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    WITHDRAW.query(query.as_deref())?;
    if person.is_none() {
        return Err(Problem::read_only());
    }
    let job = JobId(number(&job, "job")?);
    match state.reader.read(move |places| jobs::withdraw(job, database::now(), places)).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::new(
            StatusCode::CONFLICT,
            "no such job waits",
            "a machine took it, or it has ended; `/api/v1/jobs` lists all",
        )),
    }
}
