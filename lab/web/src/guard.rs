//! Checks that every request passes before anything is read: the server's name, the token, the
//! method, and for writes the page that sends it. Also the headers of every response.
//!
//! A foreign page can let its own name resolve to this server's address (DNS rebinding) and then
//! send requests as if the server were its own. Its name is in each of them, so a request with a
//! foreign name is refused. A numeric address cannot belong to another site.

use crate::page::refused;
use crate::problem::Problem;
use crate::token::{Token, Tokens};
use axum::extract::{Request, State};
use axum::http::header::{AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

/// The checks of a server.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    pub(crate) hosts: Arc<Hosts>,
    /// Accepted tokens; `None` if no token is needed.
    pub(crate) tokens: Option<Arc<Tokens>>,
}

/// Author of a request: the name of the token, or the name that the client gives.
#[derive(Debug, Clone)]
pub(crate) struct Person(pub(crate) String);

/// Maximum number of letters of a name that a client gives.
const NAME_LETTERS: usize = 64;

/// Content security policy of responses other than pages: they execute and load nothing.
const POLICY: &str = "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/// Headers of every response.
const HEADERS: [(&str, &str); 6] = [
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
    for (name, value) in HEADERS {
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
    /// The author, if tokens are needed. Fails if the request is refused.
    fn check(&self, method: &Method, uri: &Uri, headers: &HeaderMap) -> Result<Option<Person>, Problem> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().and_then(|host| host.to_str().ok());
        let is_ours = host.is_some_and(|host| self.hosts.permit(host)) && hosts.next().is_none();
        // A request to a proxy also has the authority in its first line.
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

/// True if a write comes from a page of this server, or from no page. A browser sends the token
/// with requests of foreign pages too, but names their origin. The server speaks HTTP; a proxy in
/// front of it that speaks HTTPS says so in `X-Forwarded-Proto`, which no foreign page can set.
fn is_own_page(headers: &HeaderMap, host: Option<&str>) -> bool {
    let mut origins = headers.get_all(ORIGIN).iter();
    let forwarded = headers.get("x-forwarded-proto");
    let scheme = forwarded.map_or(Some("http"), |schemes| schemes.to_str().ok()?.split(',').next().map(str::trim));
    let own = scheme.zip(host);
    let is_own_origin =
        origins.all(|origin| own.is_some() && origin.to_str().ok().and_then(|origin| origin.split_once("://")) == own);
    let mut sites = headers.get_all("sec-fetch-site").iter();
    is_own_origin && sites.all(|site| site == "same-origin")
}

/// The owner of the request's token; `None` if it has no accepted token.
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

/// The token of a request: a bearer token, or a browser's password, with its user name.
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

/// Names and addresses under which the server answers.
#[derive(Debug, Clone)]
pub(crate) struct Hosts {
    listens_on: IpAddr,
    /// Lower-case names.
    names: Vec<String>,
}

impl Hosts {
    /// The names of a server that listens at an address, with additional ones.
    pub(crate) fn new(listen: SocketAddr, names: &[String]) -> Self {
        Hosts { listens_on: listen.ip(), names: names.iter().map(|name| name.to_ascii_lowercase()).collect() }
    }

    /// True if the server answers to an authority: host and port, as in the header `Host`.
    pub(crate) fn permit(&self, authority: &str) -> bool {
        let Some(host) = host(authority) else { return false };
        let host = host.to_ascii_lowercase();
        match host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
            Ok(address) => !self.listens_on.is_loopback() || address.is_loopback(),
            Err(_) => host == "localhost" || self.names.contains(&host),
        }
    }
}

/// The host of an authority, without port; `None` if it is invalid.
fn host(authority: &str) -> Option<&str> {
    let host = match authority.strip_prefix('[') {
        Some(rest) => &authority[..rest.find(']')? + 2],
        None => authority.split(':').next()?,
    };
    let port = &authority[host.len()..];
    let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(|port| port.parse::<u16>().is_ok());
    (is_port && !host.is_empty()).then_some(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hosts(listen: &str) -> Hosts {
        Hosts::new(listen.parse().unwrap(), &["Lab.example".to_owned()])
    }

    #[test]
    fn on_loopback_only_loopback_and_given_names_are_ours() {
        let hosts = hosts("127.0.0.1:8080");
        for ours in
            ["127.0.0.1", "127.0.0.1:8080", "localhost:9", "LOCALHOST", "[::1]:8080", "lab.example", "127.0.0.2"]
        {
            assert!(hosts.permit(ours), "{ours}");
        }
        for foreign in [
            "evil.example",
            "evil.example:8080",
            "192.0.2.7",
            "localhost.evil.example",
            "",
            ":80",
            "[::1",
            "127.0.0.1:x",
            "a@localhost:1:2",
            "[::1]x",
        ] {
            assert!(!hosts.permit(foreign), "{foreign}");
        }
    }

    #[test]
    fn on_another_address_numbers_are_ours_and_foreign_names_are_not() {
        let hosts = hosts("0.0.0.0:8080");
        assert!(hosts.permit("192.0.2.7:8080") && hosts.permit("[2001:db8::1]:8080") && hosts.permit("lab.example"));
        assert!(!hosts.permit("evil.example"));
    }
}
