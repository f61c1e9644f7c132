//! What every request passes, before anything is read: our name, the token, the method, and for writing the page that it comes from. And what every response
//! says to browsers.

use crate::hosts::Hosts;
use crate::problem::Problem;
use crate::refused::refused;
use crate::token::{Token, Tokens};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
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

/// Who asks: the name of the token, or else the name that the client gives.
#[derive(Debug, Clone)]
pub(crate) struct Person(pub(crate) String);

/// Letters of a name that a client gives.
const NAME_LETTERS: usize = 64;

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
pub(crate) async fn guard(State(guard): State<Guard>, mut request: Request, next: Next) -> Response {
    let mut response = match guard.check(request.method(), request.uri(), request.headers()) {
        Ok(person) => {
            if let Some(person) = person {
                request.extensions_mut().insert(person);
            }
            next.run(request).await
        }
        Err(problem) => refused(problem, request.uri()),
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
    /// Who asks, if tokens are asked for. Fails if the request is refused.
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Option<Person>, Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_ours = host.is_some_and(|host| self.hosts.permit(host)) && hosts.next().is_none();
        // A request to a proxy has the authority in its first line too.
        if !is_ours || uri.authority().is_some_and(|authority| !self.hosts.permit(authority.as_str())) {
            return Err(Problem::foreign_host());
        }
        let person = match &self.tokens {
            None => None,
            Some(tokens) => Some(person(tokens, headers).ok_or_else(Problem::no_token)?),
        };
        match (method, &person) {
            (&Method::GET | &Method::HEAD, _) => Ok(person),
            (&Method::POST, Some(_)) if is_own_page(headers, host) => Ok(person),
            (&Method::POST, Some(_)) => Err(Problem::foreign_page()),
            _ => Err(Problem::read_only()),
        }
    }
}

/// Whether a request to write comes from a page of ours, or from no page at all. A browser sends the token with requests of foreign pages too, and says in each from
/// where it comes.
fn is_own_page(headers: &HeaderMap, host: Option<&str>) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let is_own_origin = origins.all(|origin| {
        let authority =
            origin.to_str().ok().and_then(|origin| origin.split_once("://")).map(|(_, authority)| authority);
        authority.is_some() && authority == host
    });
    let mut sites = headers.get_all("sec-fetch-site").iter();
    is_own_origin && sites.all(|site| site == "same-origin")
}

/// Who has one of the tokens; `None` if the request has none of them.
fn person(tokens: &Tokens, headers: &HeaderMap) -> Option<Person> {
    let (token, user) = credentials(headers)?;
    let token = tokens.accept(&token)?;
    let user = user.filter(|user| !user.trim().is_empty());
    Some(Person(match (&token.name, user) {
        (Some(name), _) => name.clone(),
        (None, Some(user)) => user.chars().take(NAME_LETTERS).collect(),
        (None, None) => Token::without_name(token),
    }))
}

/// The token of a request: a bearer's, or the password of a browser, which comes with a name.
fn credentials(headers: &HeaderMap) -> Option<(String, Option<String>)> {
    let (scheme, credentials) = headers.get(AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    if scheme.eq_ignore_ascii_case("bearer") {
        return Some((credentials.trim().to_owned(), None));
    }
    if !scheme.eq_ignore_ascii_case("basic") {
        return None;
    }
    let decoded = BASE64.decode(credentials.trim()).ok()?;
    let (user, password) = std::str::from_utf8(&decoded).ok()?.split_once(':')?;
    Some((password.to_owned(), Some(user.to_owned())))
}
