//! Work that readers with a token ask for, and what came of it. Nothing is measured here: `faultline history work` does it, on the machine that measures the history.

use super::body::{self, Body};
use super::changes::found;
use crate::clock;
use crate::guard::Person;
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::jobs::{self, JobAsked};
use faultline_experiment::place_of;
use faultline_model::job::{Job, JobId, JobWork};
use faultline_model::record::RunLine;
use serde::{Deserialize, Serialize};

/// Jobs in an answer, if nothing else is asked for.
const USUAL: usize = 100;
/// Maximum number of jobs in an answer.
const MOST: usize = 1000;

const BODY: Body = Body(
    "it takes JSON like {\"work\": \"measure\", \"commit\": \"1f3a…\"}; work: measure, drill; commit: the full name",
);

/// Some jobs, the newest first.
#[derive(Serialize)]
struct Jobs {
    format: &'static str,
    jobs: Vec<Line>,
    /// `before` of the next request; `None` if there are no older jobs.
    next: Option<JobId>,
}

/// A job.
#[derive(Serialize)]
struct Line {
    #[serde(flatten)]
    job: Job,
    /// Of one that a machine does, the unfinished run of the history, as `/api/v1/runs` has it.
    open: Option<RunLine>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = Query::parse(query.as_deref(), &["before", "limit"])?;
    let before = query.number("before", 1, i64::MAX)?.map(JobId);
    let limit = query.number("limit", 1, MOST)?.unwrap_or(USUAL);
    let mut jobs = state.reader.read(move |places| jobs::list(before, limit + 1, places)).await?;
    let is_more = jobs.len() > limit;
    jobs.truncate(limit);
    let next = jobs.last().filter(|_| is_more).map(|job| job.id);
    let now = state.histories.now().await?;
    let jobs = jobs.into_iter().map(|job| Line { open: now.run_of(&job).cloned(), job }).collect();
    Ok(Json(Jobs { format: "faultline-jobs/1", jobs, next }).into_response())
}

/// What a reader asks for.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    work: Kind,
    commit: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    Measure,
    Drill,
}

/// A job that waits or is done by a machine.
#[derive(Serialize)]
struct Asked {
    format: &'static str,
    job: JobId,
    /// False if the same was asked for before.
    is_new: bool,
}

/// Saves what a reader asks for: that a commit of the history is measured again, or that the commits of the change are searched whose first commit with the new level has that name.
pub(super) async fn ask(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path(id): Path<String>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let Some(Extension(Person(person))) = person else { return Err(Problem::read_only()) };
    let Wish { work, commit } = body::parsed(&headers, body, &BODY)?;
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
        Kind::Drill => {
            let step = found(&now, &id, &commit)?.step;
            let place = place_of(&history.series, step).map_err(|error| Problem::of(error, ""))?;
            JobWork::Drill { place }
        }
    };
    let save = move |places: &_| jobs::ask(&history.series.name(), &work, &person, clock::now(), places);
    let (job, is_new) = match state.reader.read(save).await? {
        JobAsked::New(job) => (job, true),
        JobAsked::Known(job) => (job, false),
        JobAsked::TooMany => {
            return Err(Problem::new(
                StatusCode::TOO_MANY_REQUESTS,
                "too many jobs wait already",
                "`faultline history work` on the machine that measures does them; waiting ones can be withdrawn",
            ));
        }
    };
    Ok((StatusCode::ACCEPTED, Json(Asked { format: "faultline-job/1", job, is_new })).into_response())
}

/// Withdraws a job that waits.
pub(super) async fn withdraw(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path(job): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    if person.is_none() {
        return Err(Problem::read_only());
    }
    let job = JobId(super::number(&job, "job")?);
    match state.reader.read(move |places| jobs::withdraw(job, clock::now(), places)).await? {
        true => Ok(StatusCode::NO_CONTENT.into_response()),
        false => Err(Problem::new(
            StatusCode::CONFLICT,
            "no such job waits",
            "a machine has taken it, or it has ended; `/api/v1/jobs` lists all",
        )),
    }
}
