//! Memory of answers that clients have not read yet: bounded in total, so that slow clients cannot
//! exhaust it.

use crate::problem::Problem;
use axum::body::{Body, Bytes};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use hyper::body::{Body as HttpBody, Frame, SizeHint};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::Semaphore;

/// Maximum size of all unread answers in KiB.
const ALL_KIB: usize = 256 * 1024;
/// Maximum size of an answer in bytes.
const LONGEST: u64 = 32 * 1024 * 1024;

/// Free memory for answers, in KiB.
#[derive(Debug, Clone)]
pub(crate) struct Room(Arc<Semaphore>);

impl Default for Room {
    fn default() -> Self {
        Room(Arc::new(Semaphore::new(ALL_KIB)))
    }
}

impl Room {
    /// The answer, which takes its room until it is sent or dropped; a refusal if it is too long or
    /// there is no room.
    fn hold(&self, answer: Response) -> Response {
        let bytes = answer.body().size_hint().lower();
        if bytes > LONGEST {
            return Problem::too_long(bytes).into_response();
        }
        let taken = Arc::clone(&self.0).try_acquire_many_owned(bytes.div_ceil(1024) as u32);
        match taken {
            Err(_) => Problem::no_room().into_response(),
            Ok(room) => answer.map(|body| with(body, room)),
        }
    }
}

/// Takes room for each answer except script and style, which all clients share.
pub(crate) async fn held(State(room): State<Room>, request: Request, next: Next) -> Response {
    let is_shared = request.uri().path().starts_with("/assets/");
    let answer = next.run(request).await;
    if is_shared { answer } else { room.hold(answer) }
}

/// A body that keeps `held` until it is sent or dropped.
pub(crate) fn with(body: Body, held: impl Send + Unpin + 'static) -> Body {
    Body::new(Held { body, _held: held })
}

/// A body with a value that lives as long.
struct Held<T> {
    body: Body,
    _held: T,
}

impl<T: Unpin> HttpBody for Held<T> {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::StatusCode;
    use axum::http::header::RETRY_AFTER;

    fn answer(bytes: usize) -> Response {
        vec![b'x'; bytes].into_response()
    }

    #[test]
    fn an_answer_takes_its_room_until_it_is_dropped() {
        let room = Room(Arc::new(Semaphore::new(4)));
        let first = room.hold(answer(3 * 1024 - 5));
        assert_eq!((first.status(), first.body().size_hint().exact()), (StatusCode::OK, Some(3 * 1024 - 5)));
        let refused = room.hold(answer(1025));
        assert_eq!(refused.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert!(refused.headers().contains_key(RETRY_AFTER));
        let second = room.hold(answer(1024));
        assert_eq!(second.status(), StatusCode::OK);
        drop((first, second));
        assert_eq!(room.hold(answer(4 * 1024)).status(), StatusCode::OK);
    }

    #[tokio::test]
    async fn a_held_body_is_sent_unchanged() {
        let room = Room::default();
        let held = room.hold("some text".into_response());
        assert_eq!(axum::body::to_bytes(held.into_body(), 100).await.unwrap(), "some text");
        assert_eq!(room.0.available_permits(), ALL_KIB);
    }

    #[test]
    fn an_answer_that_is_too_long_is_refused() {
        let too_long = answer(LONGEST as usize + 1);
        assert_eq!(Room::default().hold(too_long).status(), StatusCode::UNPROCESSABLE_ENTITY);
    }
}
