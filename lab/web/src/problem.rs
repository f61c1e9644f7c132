//! Refusals: a status, one line, and a hint; as JSON for programs.

use axum::Json;
use axum::http::header::RETRY_AFTER;
use axum::http::{HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use faultline_experiment::{Error, ErrorKind};
use schemars::JsonSchema;
use serde::Serialize;

/// Seconds after which a client may retry.
const RETRY_SECONDS: &str = "2";

/// A refusal. Its text never contains a path of this machine.
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

    /// An invalid request.
    pub(crate) fn bad_request(problem: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::BAD_REQUEST, problem, hint)
    }

    /// A missing object.
    pub(crate) fn not_found(problem: impl Into<String>, hint: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, problem, hint)
    }

    /// A missing or unknown token.
    pub(crate) fn no_token() -> Self {
        Self::new(
            StatusCode::UNAUTHORIZED,
            "this server needs a token",
            "send `Authorization: Bearer TOKEN`; in a browser, enter any user name and the token as password",
        )
    }

    /// A request with a foreign host name.
    pub(crate) fn foreign_host() -> Self {
        Self::new(
            StatusCode::MISDIRECTED_REQUEST,
            "this server does not answer to the host name in the request",
            "`faultline serve --host NAME` adds a name",
        )
    }

    /// A write to an address that is only read.
    pub(crate) fn read_only() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address only answers GET and HEAD",
            "with `faultline serve --token-file FILE`, readers with a token can set states of changes and ask for work",
        )
    }

    /// A read of an address that is only written.
    pub(crate) fn write_only() -> Self {
        Self::new(
            StatusCode::METHOD_NOT_ALLOWED,
            "this address only answers POST",
            "`/api/v1/openapi.json` describes it",
        )
    }

    /// A write from a page of another site.
    pub(crate) fn foreign_page() -> Self {
        Self::new(
            StatusCode::FORBIDDEN,
            "the request comes from a page of another site",
            "use the pages of this server, or send the request without `Origin`",
        )
    }

    /// Too many waiting requests.
    pub(crate) fn busy() -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, "too many requests are waiting for the database", "retry later")
    }

    /// An unreadable database.
    fn unreachable() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the database cannot be read at the moment",
            "retry later; the server's own output has the reason",
        )
    }

    /// Histories that are still being read, for the first time or after many changes.
    pub(crate) fn still_reading() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "the histories are still being read",
            "retry in a moment; the read continues",
        )
    }

    /// An answer above the maximum size.
    pub(crate) fn too_long(bytes: u64) -> Self {
        Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("the answer would have {} MiB", bytes.div_ceil(1024 * 1024)),
            "`faultline show` prints a whole run; `/api/v1/histories/ID` answers in pages",
        )
    }

    /// Too many unread answers.
    pub(crate) fn no_room() -> Self {
        Self::new(
            StatusCode::SERVICE_UNAVAILABLE,
            "too many answers are waiting for clients that read slowly",
            "retry later",
        )
    }

    /// An answer that took too long.
    pub(crate) fn too_slow() -> Self {
        Self::new(StatusCode::GATEWAY_TIMEOUT, "the answer took too long", "request less: a shorter range, fewer rows")
    }

    /// An internal failure, without details for clients.
    pub(crate) fn internal() -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "internal error", "the server's own output has the reason")
    }

    /// The refusal for an error: missing objects and saved data without an answer are described,
    /// failures of the database are not. `database` is its name in the error.
    pub(crate) fn of(error: Error, database: &str) -> Self {
        let status = match error.kind {
            ErrorKind::Usage => StatusCode::NOT_FOUND,
            ErrorKind::Unanswerable => StatusCode::UNPROCESSABLE_ENTITY,
            ErrorKind::Unusable | ErrorKind::Failed | ErrorKind::Lab => return Self::unreachable(),
            ErrorKind::Stopped | ErrorKind::Untrusted { .. } => return Self::internal(),
        };
        let problem = match database {
            "" => error.problem,
            name => {
                error.problem.replace(&format!("the database {name}"), "the database").replace(name, "the database")
            }
        };
        Problem { status, problem, hint: None }
    }

    /// This refusal, with 422 instead of 404: the objects exist, but give no answer.
    pub(crate) fn unprocessable(self) -> Self {
        match self.status {
            StatusCode::NOT_FOUND => Problem { status: StatusCode::UNPROCESSABLE_ENTITY, ..self },
            _ => self,
        }
    }
}

/// A refusal.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Problem")]
pub(crate) struct ProblemBody<'a> {
    /// The problem, in one line.
    error: &'a str,
    /// A possible remedy.
    hint: Option<&'a str>,
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = ProblemBody { error: &self.problem, hint: self.hint.as_deref() };
        with_retry((self.status, Json(&body)).into_response())
    }
}

/// The response; a temporary refusal gets the time after which a client may retry.
pub(crate) fn with_retry(mut response: Response) -> Response {
    if response.status() == StatusCode::SERVICE_UNAVAILABLE {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static(RETRY_SECONDS));
    }
    response
}
