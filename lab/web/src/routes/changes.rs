//! Changes of all histories: the list, the feed, and states set by readers.

use crate::database;
use crate::guard::Person;
use crate::histories::{History, Snapshot};
use crate::operation::{Operation, schema_of};
use crate::page::{Page, PageProblem};
use crate::problem::Problem;
use crate::query::{Parameter, Query};
use crate::state::State;
use crate::token::hex;
use axum::Json;
use axum::body::Bytes;
use axum::extract::rejection::BytesRejection;
use axum::extract::{Extension, Path, RawQuery, State as Shared};
use axum::http::header::CONTENT_TYPE;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::Mark;
use faultline_record::change_event::ChangeState;
use faultline_record::commit::CommitInfo;
use faultline_record::record::RunId;
use faultline_record::time::UnixMillis;
use faultline_report::site::{ChangeRow, ChangesPage, FeedEntry, REMARK_LETTERS, Site, changes_feed, changes_page};
use faultline_stats::history::HistoryStep;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Default number of changes in an answer.
const USUAL: usize = 100;
/// Maximum number of changes in an answer.
const MOST: i64 = 1000;
/// Changes on a page.
const CHANGES_ON_PAGE: usize = 200;
/// Changes in the feed.
const MOST_ENTRIES: usize = 100;

const LIST_FORMAT: &str = "faultline-changes/1";
const MARK_FORMAT: &str = "faultline-change/1";

const STATE: Parameter = Parameter::word(
    "state",
    &["open", "found", "confirmed", "ignored", "fixed"],
    "Only changes in this state. `open`: neither ignored or fixed, nor caused by a quirk or the layout alone",
);
const FROM: Parameter = Parameter::from("Number of changes to skip");

/// Lists changes.
pub(super) const LIST: Operation =
    Operation::get("/changes", "changes", "The steps of all histories with their states, newest commit first")
        .takes(&[STATE, FROM, Parameter::limit(MOST, "Maximum number of changes; by default 100")])
        .answers(&[schema_of::<Changes<'_>>]);

/// Changes, newest commit first.
#[derive(Serialize, JsonSchema)]
struct Changes<'a> {
    #[schemars(extend("const" = LIST_FORMAT))]
    format: &'static str,
    /// Number of all selected changes.
    total: usize,
    changes: Vec<ChangeLine<'a>>,
    /// `from` of the next request; null after the last changes.
    next: Option<usize>,
}

pub(super) async fn list(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, Problem> {
    let query = LIST.query(query.as_deref())?;
    let wanted = Wanted::parse(&query)?;
    let now = state.histories.now().await?;
    let all = changes(&now, wanted);
    let (range, next) = query.rows(USUAL)?.among(all.len());
    let changes = all[range].iter().map(ChangeLine::of).collect();
    Ok(Json(Changes { format: LIST_FORMAT, total: all.len(), changes, next }).into_response())
}

pub(super) async fn page(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Page, PageProblem> {
    let query = Query::parse(query.as_deref(), &[FROM])?;
    let now = state.histories.now().await?;
    let all = changes(&now, Wanted::All);
    let (range, next) = query.rows(CHANGES_ON_PAGE)?.among(all.len());
    let page = ChangesPage {
        changes: all[range].iter().map(Change::row).collect(),
        further: next.map(|next| format!("?from={next}")),
        may_mark: state.may_mark,
    };
    Ok(Page(changes_page(&page, &Site::served())))
}

/// The page of all changes, for a file.
pub(crate) fn whole(now: &Snapshot, site: &Site) -> String {
    let changes = changes(now, Wanted::All).iter().map(Change::row).collect();
    changes_page(&ChangesPage { changes, further: None, may_mark: false }, site)
}

pub(super) async fn feed(Shared(state): Shared<State>, RawQuery(query): RawQuery) -> Result<Response, PageProblem> {
    Query::parse(query.as_deref(), &[])?;
    let now = state.histories.now().await?;
    let feed = feed_of(&now, &state.reader.database(), &Site::served());
    Ok(([(CONTENT_TYPE, "application/atom+xml; charset=utf-8")], feed).into_response())
}

/// The feed of a database with a name.
pub(crate) fn feed_of(now: &Snapshot, database: &str, site: &Site) -> String {
    changes_feed(&feed_name(database), &entries(now, MOST_ENTRIES), site)
}

/// Sets the state of a change.
pub(super) const MARK: Operation = Operation::post(
    "/histories/{history}/changes/{commit}",
    "mark",
    "Sets the state of a change, like `faultline history mark`. Needs a token",
)
.takes_body(
    schema_of::<Said>,
    "it takes JSON like {\"state\": \"ignored\", \"reason\": \"a known compiler bug\"}; states: found, confirmed, ignored, fixed",
)
.answers(&[schema_of::<Marked<'_>>])
.refuses(&[(StatusCode::UNPROCESSABLE_ENTITY, "A change needs a reason to be ignored")]);

/// A new state of a change.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewState", extend("anyOf" = [
    {"properties": {"state": {"enum": ["found", "confirmed", "fixed"]}}},
    {"properties": {"state": {"const": "ignored"}, "reason": {"type": "string", "pattern": "[0-9A-Za-z]"}}, "required": ["reason"]},
]))]
struct Said {
    #[schemars(extend("enum" = ["found", "confirmed", "ignored", "fixed"]))]
    state: String,
    /// The reason, which an ignored change needs.
    #[schemars(extend("maxLength" = REMARK_LETTERS))]
    reason: Option<String>,
}

/// A change in its new state.
#[derive(Serialize, JsonSchema)]
struct Marked<'a> {
    #[schemars(extend("const" = MARK_FORMAT))]
    format: &'static str,
    change: ChangeLine<'a>,
}

pub(super) async fn mark(
    Shared(state): Shared<State>,
    person: Option<Extension<Person>>,
    Path((id, commit)): Path<(String, String)>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    body: Result<Bytes, BytesRejection>,
) -> Result<Response, Problem> {
    MARK.query(query.as_deref())?;
    let Some(Extension(Person(person))) = person else { return Err(Problem::read_only()) };
    let mark = asked(MARK.parse(&headers, body)?, person)?;
    let now = state.histories.now().await?;
    let history = now.history(&id)?;
    let step = found(&now, &id, &commit)?.step.clone();
    let save = move |places: &_| faultline_experiment::mark(&history.series, &step, mark, database::now(), places);
    state.reader.read(save).await?;
    state.histories.expire();
    let now = state.histories.now().await?;
    let change = ChangeLine::of(&found(&now, &id, &commit)?);
    Ok(Json(Marked { format: MARK_FORMAT, change }).into_response())
}

/// The change of a history whose first commit with the new level is `commit`. Fails if there is
/// none.
pub(super) fn found<'a>(now: &'a Snapshot, id: &str, commit: &str) -> Result<Change<'a>, Problem> {
    let is_it =
        |change: &Change<'_>| change.history.id == id && change.commit().is_some_and(|first| first.id == commit);
    changes(now, Wanted::All).into_iter().find(is_it).ok_or_else(|| {
        Problem::not_found(
            "the history has no change at this commit",
            "`/api/v1/changes` lists all, each with the commit `by` that names it; new results may have moved it",
        )
    })
}

/// The requested state. Fails if it is unknown, or lacks a reason that it needs.
fn asked(said: Said, person: String) -> Result<Mark, Problem> {
    let state =
        state_named(&said.state).ok_or_else(|| MARK.invalid(StatusCode::BAD_REQUEST, "`state` is not a state"))?;
    let reason = said.reason.as_deref();
    if reason.is_some_and(|reason| reason.trim().chars().count() > REMARK_LETTERS) {
        return Err(Problem::bad_request("`reason` is too long", "it may have 1,000 letters"));
    }
    Mark::new(state, person, reason).map_err(|error| MARK.invalid(StatusCode::UNPROCESSABLE_ENTITY, &error.problem))
}

/// Bytes of an identifier made from a hash.
const ID_BYTES: usize = 16;

/// A change with its history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Change<'a> {
    pub(super) history: &'a History,
    pub(super) step: &'a HistoryStep,
}

impl<'a> Change<'a> {
    /// The first commit with the new level.
    fn commit(&self) -> Option<&'a CommitInfo> {
        self.history.series.commit(self.step.by)
    }

    /// The change as a row of a page.
    fn row(&self) -> ChangeRow<'a> {
        ChangeRow { id: &self.history.id, series: &self.history.series, step: self.step }
    }

    /// The change as an entry of the feed. `begun` has the start of each run.
    fn entry(&self, begun: &BTreeMap<RunId, UnixMillis>) -> FeedEntry<'a> {
        let commit = self.commit().map_or("", |commit| commit.id.as_str());
        let run = self.history.series.points.get(self.step.by as usize).and_then(|point| point.run);
        let measured = run.and_then(|run| begun.get(&run)).copied().unwrap_or(UnixMillis(0));
        let said = self.step.state.log.iter().map(|event| event.at);
        FeedEntry {
            id: name_for_ever(&[&self.history.id, commit]),
            updated: said.fold(measured, Ord::max),
            change: self.row(),
        }
    }
}

/// An IRI derived from `parts`.
fn name_for_ever(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    let mut bytes: [u8; ID_BYTES] = [0; ID_BYTES];
    bytes.copy_from_slice(&hash.finalize()[..ID_BYTES]);
    // RFC 9562: version 8 and the variant.
    bytes[6] = bytes[6] & 0x0f | 0x80;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let digits = hex(&bytes);
    let [a, b, c, d, e] = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    format!("urn:uuid:{a}-{b}-{c}-{d}-{e}")
}

/// A selection of changes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wanted {
    /// All.
    All,
    /// Those that need attention.
    Open,
    /// Those in a state.
    State(ChangeState),
}

impl Wanted {
    /// The selection of the parameter `state`. Fails if it is unknown.
    fn parse(query: &Query) -> Result<Self, Problem> {
        Ok(match query.word("state")? {
            None => Wanted::All,
            Some(word) => state_named(word).map_or(Wanted::Open, Wanted::State),
        })
    }

    fn has(self, step: &HistoryStep) -> bool {
        match self {
            Wanted::All => true,
            Wanted::Open => !step.is_settled(),
            Wanted::State(state) => step.state.now == state,
        }
    }
}

/// The state with a name.
fn state_named(word: &str) -> Option<ChangeState> {
    let all = [ChangeState::Found, ChangeState::Confirmed, ChangeState::Ignored, ChangeState::Fixed];
    all.into_iter().find(|state| state.word() == word)
}

/// The selected changes, newest commit first.
fn changes(now: &Snapshot, wanted: Wanted) -> Vec<Change<'_>> {
    let mut found: Vec<Change<'_>> = Vec::new();
    for history in &now.histories {
        let steps = history.series.steps.steps.iter().filter(|step| wanted.has(step));
        found.extend(steps.map(|step| Change { history, step }));
    }
    found.sort_by_key(|change| Reverse(change.commit().map(|commit| commit.committed_s)));
    found
}

/// The newest changes as entries of a feed.
fn entries(now: &Snapshot, most: usize) -> Vec<FeedEntry<'_>> {
    let begun: BTreeMap<RunId, UnixMillis> = now.runs.iter().map(|run| (run.id, run.started)).collect();
    changes(now, Wanted::All).iter().take(most).map(|change| change.entry(&begun)).collect()
}

/// Name of a database's feed.
fn feed_name(database: &str) -> String {
    name_for_ever(&["changes", database])
}

/// A change, for programs.
#[derive(Serialize, JsonSchema)]
struct ChangeLine<'a> {
    /// Identifier of the history.
    history: &'a str,
    subject: &'a str,
    repository: &'a str,
    measure: &'static str,
    unit: &'a str,
    tasks: u32,
    /// The last measured commit with the old level.
    after: Option<&'a CommitInfo>,
    /// The first commit with the new level.
    by: Option<&'a CommitInfo>,
    /// Certainty that the program changed.
    certainty: &'static str,
    /// Number of commits after the last one with the old level, up to the first with the new one.
    commits: u32,
    step: &'a HistoryStep,
}

impl<'a> ChangeLine<'a> {
    fn of(change: &Change<'a>) -> Self {
        let (series, step) = (&change.history.series, change.step);
        ChangeLine {
            history: &change.history.id,
            subject: &series.subject,
            repository: &series.repository,
            measure: series.quantity.word(),
            unit: &series.unit,
            tasks: series.tasks,
            after: series.commit(step.after),
            by: series.commit(step.by),
            certainty: step.certainty().word(),
            commits: step.by - step.after,
            step,
        }
    }
}
