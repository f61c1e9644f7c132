//! Pages as answers: their headers, answers to browsers that have a page already, and refusals as a
//! page or as JSON.

use crate::problem::{Problem, with_retry};
use crate::token::hex;
use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_SECURITY_POLICY, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{Html, IntoResponse, Response};
use faultline_report::site::{Site, problem_page};
use percent_encoding::percent_decode_str;
use sha2::{Digest, Sha256};

/// Content security policy of pages: script, style and requests only from and to this server. Bars
/// have their widths in attributes, and the plot library adds style, so inline style is allowed.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; \
     form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Bytes of a page's tag.
const TAG_BYTES: usize = 16;

/// A page.
pub(crate) struct Page(pub(crate) String);

impl IntoResponse for Page {
    fn into_response(self) -> Response {
        let policy = HeaderValue::from_static(POLICY);
        ([(CONTENT_SECURITY_POLICY, policy), (ETAG, tag(&self.0))], Html(self.0)).into_response()
    }
}

/// A problem, shown as a page.
pub(crate) struct PageProblem(Problem);

impl From<Problem> for PageProblem {
    fn from(problem: Problem) -> Self {
        PageProblem(problem)
    }
}

impl IntoResponse for PageProblem {
    fn into_response(self) -> Response {
        let Problem { status, problem, hint } = self.0;
        let page = problem_page(status.as_u16(), &problem, hint.as_deref(), &Site::served());
        with_retry((status, Page(page)).into_response())
    }
}

/// The tag of a text: weak, because the text may be compressed on its way.
fn tag(text: &str) -> HeaderValue {
    let tag = format!("W/\"{}\"", hex(&Sha256::digest(text.as_bytes())[..TAG_BYTES]));
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))
}

/// Replaces a page that the browser has already by 304 without a body.
pub(crate) async fn unchanged(request: Request, next: Next) -> Response {
    let known = request.headers().get(IF_NONE_MATCH).cloned();
    let mut response = next.run(request).await;
    if response.status() == StatusCode::OK && is_known(known.as_ref(), response.headers()) {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
        *response.body_mut() = Body::empty();
        for name in [CONTENT_LENGTH, CONTENT_TYPE] {
            response.headers_mut().remove(name);
        }
    }
    response
}

/// True if a response's tag is one of those that the browser knows.
fn is_known(known: Option<&HeaderValue>, headers: &HeaderMap) -> bool {
    let Some(tag) = headers.get(ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let known = known.and_then(|known| known.to_str().ok()).unwrap_or_default();
    known.split(',').any(|one| one.trim() == tag)
}

/// A refusal: JSON below `/api`, otherwise a page.
pub(crate) fn refused(problem: Problem, uri: &Uri) -> Response {
    match is_of_api(uri.path()) {
        true => problem.into_response(),
        false => PageProblem::from(problem).into_response(),
    }
}

fn is_of_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

/// Refuses an address that is not UTF-8, which a handler with text in its path would answer with
/// bare text.
pub(crate) async fn unreadable(request: Request, next: Next) -> Response {
    match percent_decode_str(request.uri().path()).decode_utf8() {
        Ok(_) => next.run(request).await,
        Err(_) => refused(
            Problem::bad_request("the address is not UTF-8", "write each byte of UTF-8 as `%` and two digits"),
            request.uri(),
        ),
    }
}

/// Refuses an unknown address.
pub(crate) async fn unknown(uri: Uri) -> Response {
    let (problem, hint) = match is_of_api(uri.path()) {
        true => ("there is no such address", "`/api/v1/openapi.json` describes all"),
        false => ("there is no such page", "follow the links above"),
    };
    refused(Problem::not_found(problem, hint), &uri)
}

/// Refuses a method that the address does not answer. Only GET, HEAD and POST pass the guard.
pub(crate) async fn other_method(method: Method, uri: Uri) -> Response {
    let problem = if method == Method::POST { Problem::read_only() } else { Problem::write_only() };
    refused(problem, &uri)
}
