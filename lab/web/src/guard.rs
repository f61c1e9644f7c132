//! What every request passes, before anything is read: our name, the method, the token. And what every response says to browsers.

use crate::hosts::Hosts;
use crate::problem::Problem;
use crate::token::Tokens;
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::sync::Arc;

/// Who may ask, and how.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) hosts: Arc<Hosts>,
    /// `None`: nobody needs a token.
    pub(crate) tokens: Option<Arc<Tokens>>,
}

/// For responses that are no pages: nothing in them is executed or loaded.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// What browsers are told with every response.
const TOLD: [(&str, &str); 6] = [
    ("x-content-type-options", "nosniff"),
    ("x-frame-options", "DENY"),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-resource-policy", "same-origin"),
    ("permissions-policy", "camera=(), geolocation=(), microphone=()"),
];

/// Lets a request pass, or refuses it.
pub(crate) async fn guard(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.method(), request.uri(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    let asks_for_token = response.status() == StatusCode::UNAUTHORIZED;
    let headers = response.headers_mut();
    for (name, value) in TOLD {
        headers.insert(HeaderName::from_static(name), HeaderValue::from_static(value));
    }
    headers.entry(CONTENT_SECURITY_POLICY).or_insert(HeaderValue::from_static(POLICY));
    headers.entry(CACHE_CONTROL).or_insert(HeaderValue::from_static("no-cache"));
    if asks_for_token {
        headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"Faultline\", charset=\"UTF-8\""));
    }
    response
}

impl Guard {
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<(), Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_ours = host.is_some_and(|host| self.hosts.permit(host)) && hosts.next().is_none();
        // A request to a proxy has the authority in its first line too.
        if !is_ours || uri.authority().is_some_and(|authority| !self.hosts.permit(authority.as_str())) {
            return Err(Problem::foreign_host());
        }
        let is_known = self.tokens.as_ref().is_none_or(|tokens| token(headers).is_some_and(|one| tokens.accept(&one)));
        if !is_known {
            return Err(Problem::no_token());
        }
        if matches!(*method, Method::GET | Method::HEAD) { Ok(()) } else { Err(Problem::read_only()) }
    }
}

/// The token of a request: a bearer's, or the password of a browser.
fn token(headers: &HeaderMap) -> Option<String> {
    let (scheme, credentials) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some(credentials.trim().to_owned());
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(credentials.trim()).ok()?;
    let (_, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some(password.to_owned())
}
