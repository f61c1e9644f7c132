//! Pages that a browser has already: their tag changes with their text, and what has not changed is not sent again.

use axum::body::Body;
use axum::extract::Request;
use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, ETAG, IF_NONE_MATCH};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::middleware::Next;
use axum::response::Response;
use sha2::{Digest, Sha256};

use crate::token::hex;

/// Bytes of a tag.
const TAG_BYTES: usize = 16;

/// The tag of a text. It is a weak one, because the text may be compressed on its way.
pub(crate) fn tag(text: &str) -> HeaderValue {
    let tag = format!("W/\"{}\"", hex(&Sha256::digest(text.as_bytes())[..TAG_BYTES]));
    HeaderValue::try_from(tag).unwrap_or(HeaderValue::from_static(""))
}

/// Sends a page only if the browser does not have it.
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

/// Whether a response has one of the tags that the browser knows.
fn is_known(known: Option<&HeaderValue>, headers: &HeaderMap) -> bool {
    let Some(tag) = headers.get(ETAG).and_then(|tag| tag.to_str().ok()) else { return false };
    let known = known.and_then(|known| known.to_str().ok()).unwrap_or_default();
    known.split(',').any(|one| one.trim() == tag)
}
