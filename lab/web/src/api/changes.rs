//! Changes of all histories: the list, and what a reader with a token says of one.

use super::body::{self, Body};
use crate::changes::{Change, ChangeLine, Wanted, changes, state as state_called};
use crate::clock;
use crate::guard::Person;
use crate::histories::Snapshot;
use crate::problem::Problem;
use crate::query::Query;
use crate::state::State;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, State as Shared};
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::Mark;
use faultline_report::site::REMARK_LETTERS;
use serde::{Deserialize, Serialize};

/// Changes in an answer, if nothing else is asked for.
const USUAL: usize = 100;
/// Maximum number of changes in an answer.
const MOST: usize = 1000;

const BODY: Body = Body(
    "it takes JSON like {\"state\": \"ignored\", \"reason\": \"a known compiler bug\"}; states: found, confirmed, ignored, fixed",
);

/// Some changes, the newest first.
#[derive(Serialize)]
struct Changes<'a> {
    format: &'static str,
    /// Number of all changes that are asked for.
    total: usize,
    changes: Vec<ChangeLine<'a>>,
    /// `from` of the next request; `None` if there are no older changes.
    next: Option<usize>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = Query::parse(query.as_deref(), &["state", "from", "limit"])?;
    let wanted = Wanted::parse(&query)?;
    let from = query.number("from", 0, u32::MAX)?.unwrap_or(0) as usize;
    let limit = query.number("limit", 1, MOST)?.unwrap_or(USUAL);
    let now = state.histories.now().await?;
    let all = changes(&now, wanted);
    let next = from.saturating_add(limit);
    let answer = Changes {
        format: "faultline-changes/1",
        total: all.len(),
        changes: all.iter().skip(from).take(limit).map(ChangeLine::of).collect(),
        next: (next < all.len()).then_some(next),
    };
    Ok(Json(answer).into_response())
}

/// What a reader says of a change.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Said {
    state: String,
    reason: Option<String>,
}

/// A change after something was said of it.
#[derive(Serialize)]
struct Marked<'a> {
    format: &'static str,
    change: ChangeLine<'a>,
}

/// Saves what a reader says of the change whose first commit with the new level has that name, as `faultline history mark` does.
pub(super) async fn mark(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path((id, commit)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    Query::parse(query.as_deref(), &[])?;
    let Some(Extension(Person(person))) = person else { return Err(Problem::read_only()) };
    let mark = said(&headers, body, person)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    let step = found(&now, &id, &commit)?.step.clone();
    let save = move |places: &_| faultline_experiment::mark(&history.series, &step, mark, clock::now(), places);
    state.reader.read(save).await?;
    state.histories.expire();
    let now = state.histories.now().await?;
    let change = ChangeLine::of(&found(&now, &id, &commit)?);
    Ok(Json(Marked { format: "faultline-change/1", change }).into_response())
}

/// The change of a history with that first commit. Fails if there is none.
pub(super) fn found<'a>(now: &'a Snapshot, id: &str, commit: &str) -> Result<Change<'a>, Problem> {
    let is_it =
        |change: &Change<'_>| change.history.id == id && change.commit().is_some_and(|first| first.id == commit);
    changes(now, Wanted::All).into_iter().find(is_it).ok_or_else(|| {
        Problem::not_found(
            "the history has no change at this commit",
            "`/api/v1/changes` lists all, each with the commit `by` that names it; more measured commits may have moved it",
        )
    })
}

/// What a request says. Fails if it is not the JSON that is taken.
fn said(headers: &HeaderMap, body: Result<Bytes, BytesRejection>, person: String) -> Result<Mark, Problem> {
    let said: Said = body::parsed(headers, body, &BODY)?;
    let state = state_called(&said.state).ok_or_else(|| Problem::bad_request("`state` is no state", BODY.0))?;
    let reason = said.reason.as_deref();
    if reason.is_some_and(|reason| reason.trim().chars().count() > REMARK_LETTERS) {
        return Err(Problem::bad_request("`reason` is too long", "it may have 1,000 letters"));
    }
    Mark::new(state, person, reason)
        .map_err(|error| Problem::new(StatusCode::UNPROCESSABLE_ENTITY, error.problem, BODY.0))
}
