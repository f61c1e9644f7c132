//! Why a request is not met: a status, one line, and a hint. As JSON for programs.

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::{Error, ErrorKind};
use serde::Serialize;

/// Seconds after which a client may ask again.
const RETRY_SECONDS: &str = "2";

/// Why a request is not met. What it says never has a path of this machine.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Problem {
    pub(crate) status: StatusCode,
    pub(crate) problem: String,
    pub(crate) hint: Option<String>,
}

impl Problem {
    pub(crate) fn new(status: StatusCode, problem: impl Into<String>, hint: &str) -> Self {
        Problem { status, problem: problem.into(), hint: Some(hint.to_owned()) }
    }

    /// The request cannot be understood.
    pub(crate) fn bad_request(problem: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, problem, hint)
    }

    /// What is asked for is not there.
    pub(crate) fn not_found(problem: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, problem, hint)
    }

    /// The client did not say who it is, or is nobody we know.
    pub(crate) fn no_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "this server needs a token",
            "send `Authorization: Bearer TOKEN`; a browser asks for it: any user name, the token as password",
        )
    }

    /// The request calls us by a foreign name.
    pub(crate) fn foreign_host() -> Self {
        Self::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server is not known by the name in the request",
            "`faultline serve --host NAME` lets it answer to a further name",
        )
    }

    /// Only reading is possible.
    pub(crate) fn read_only() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address only answers GET and HEAD",
            "`faultline serve --token-file FILE` lets readers with a token set the states of changes and ask for work, and nothing else",
        )
    }

    /// Only writing is possible.
    pub(crate) fn write_only() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address only answers POST",
            "`/api/v1/openapi.json` describes what it takes",
        )
    }

    /// A page of somebody else's sends it.
    pub(crate) fn foreign_page() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "the request comes from a page of another site",
            "set states on the pages of this server, or send the request without `Origin`",
        )
    }

    /// Too much is asked at the moment.
    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests are waiting for the database", "ask again later")
    }

    /// The database cannot be read at the moment.
    fn unreachable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the database cannot be read at the moment",
            "ask again later; the server's own output says why",
        )
    }

    /// The histories are read for the first time, or after many changes. That goes on.
    pub(crate) fn still_reading() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the histories are still being read",
            "ask again in a moment; what has been read is kept",
        )
    }

    /// The answer has more bytes than any may have.
    pub(crate) fn too_long(bytes: u64) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("the answer would have {} MiB", bytes.div_ceil(1024 * 1024)),
            "`faultline show` and its siblings print all of a run; `/api/v1/histories/ID` answers in pages",
        )
    }

    /// Too many answers wait for clients that read slowly.
    pub(crate) fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many answers are waiting for clients that read slowly",
            "ask again later",
        )
    }

    /// The database did not answer in time.
    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "the answer took too long", "ask for less: a shorter range, fewer rows")
    }

    /// Something failed here, of which clients learn no more.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "something failed inside", "the server's own output says what")
    }

    /// An error about what was asked for: it does not exist, or gives no answer. Failures of the database say no more than that there was one.
    /// `database`: as the error names it.
    pub(crate) fn of(error: Error, database: &str) -> Self {
        let status = match error.kind {
            ErrorKind::Usage => StatusCode::NOT_FOUND,
            ErrorKind::Unanswerable => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unusable | ErrorKind::Failed => return Self::unreachable(),
            ErrorKind::Stopped => return Self::internal(),
        };
        let problem = match database {
            "" => error.problem,
            name => {
                error.problem.replace(&format!("the database {name}"), "the database").replace(name, "the database")
            }
        };
        Problem { status, problem, hint: None }
    }

    /// The same for what exists and cannot be answered.
    pub(crate) fn unprocessable(self) -> Self {
        match self.status {
            StatusCode::NOT_FOUND => Problem { status: StatusCode::UNPROCESSABLE_ENTITY, ..self },
            _ => self,
        }
    }
}

/// What a client gets.
#[derive(Serialize)]
struct Body<'a> {
    error: &'a str,
    hint: Option<&'a str>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = Body { error: &self.problem, hint: self.hint.as_deref() };
        with_retry((self.status, Json(&body)).into_response())
    }
}

/// The response; if it is one that passes, with the time after which a client may ask again.
pub(crate) fn with_retry(mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    response
}
