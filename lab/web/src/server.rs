//! The server: a bounded number of connections, each with time limits, until it is stopped.

use crate::connections::{Connections, Member};
use crate::database::Log;
use crate::guard::{Guard, Hosts, guard};
use crate::held::{Room, held, with};
use crate::histories::DeclaredQuirks;
use crate::page::{other_method, unchanged, unknown, unreadable};
use crate::problem::Problem;
use crate::routes;
use crate::state::State;
use crate::token::Tokens;
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use faultline_experiment::{Error, Places, stored};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use std::convert::Infallible;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tower::ServiceExt;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

/// Threads that serve connections. They only wait and copy; reads have separate threads.
const THREADS: usize = 2;
/// Time limit for the head of a request, and between two requests.
const HEAD: Duration = Duration::from_secs(10);
/// Time limit of a connection.
const CONNECTION: Duration = Duration::from_secs(600);
/// Time after which a client that reads nothing is disconnected. Unread answers stay in memory
/// ([`crate::held`]).
const STALLED: Duration = Duration::from_secs(20);
/// Maximum size of a request's head in bytes.
const HEAD_BYTES: usize = 32 * 1024;
/// Interval between checks for a stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// Time limit for running requests when the server stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// Pause after a failure to accept a connection, usually too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// Settings of a server.
pub struct ServeRequest {
    /// Address to listen at; port 0 for any free port.
    pub listen: SocketAddr,
    /// Name that the user gave for this address; the server answers to it.
    pub name: Option<String>,
    /// Accepted tokens; `None` lets every client read, which is allowed on loopback only.
    pub tokens: Option<Tokens>,
    /// Names of a proxy in front, besides `localhost` and numeric addresses.
    pub hosts: Vec<String>,
    /// Quirks that the database does not have.
    pub quirks: DeclaredQuirks,
    /// Receives a line about each internal failure.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A listening server.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    routes: Router,
}

impl Server {
    /// Listens. Fails if the database cannot be read, if other machines could connect without a
    /// token, or if the address is taken.
    pub fn bind(request: ServeRequest, places: Places) -> Result<Self, Error> {
        if !request.listen.ip().is_loopback() && request.tokens.is_none() {
            return Err(Error::usage(
                format!("other machines could read {} without a token", request.listen),
                "`--token-file FILE` names a token file; `--new-token FILE` creates one",
            ));
        }
        if !request.hosts.is_empty() && request.tokens.is_none() {
            return Err(Error::usage(
                "other machines could read through a proxy without a token",
                "`--token-file FILE` names a token file; `--new-token FILE` creates one",
            ));
        }
        stored::runs(&places)?;
        let taken = |error: std::io::Error| {
            Error::usage(
                format!("cannot listen on {}: {error}", request.listen),
                "choose another with `--listen ADDRESS:PORT`; port 0 means any free port",
            )
        };
        let listener = TcpListener::bind(request.listen).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let state = State::new(places, request.log, request.quirks, request.tokens.is_some());
        let names: Vec<String> = request.hosts.into_iter().chain(request.name).collect();
        let guard = Guard { hosts: Arc::new(Hosts::new(request.listen, &names)), tokens: request.tokens.map(Arc::new) };
        Ok(Server { listener, address, routes: router(state, guard) })
    }

    /// Address at which it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `is_stopped` returns true. Fails if the system refuses threads.
    pub fn run(self, is_stopped: impl Fn() -> bool) -> Result<(), Error> {
        let failed = |error: std::io::Error| {
            Error::failed(format!("cannot serve {}: {error}", self.address), "check the system's limits")
        };
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let runtime = builder.worker_threads(THREADS).enable_io().enable_time().build().map_err(failed)?;
        let served: Result<(), Error> = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener).map_err(failed)?;
            accept(&listener, &self.routes, is_stopped).await;
            Ok(())
        });
        // Does not wait for long reads.
        runtime.shutdown_background();
        served
    }
}

fn router(state: State, by: Guard) -> Router {
    let log = Log::clone(&state.reader.log);
    let panicked = move |_: Box<dyn std::any::Any + Send>| {
        log("a request made the server panic, which is a bug");
        Problem::internal().into_response()
    };
    Router::new()
        .nest("/api/v1", routes::api(state.clone()))
        .merge(routes::pages(state))
        .method_not_allowed_fallback(other_method)
        .fallback(unknown)
        .layer(from_fn(unreadable))
        .layer(from_fn(unchanged))
        .layer(from_fn_with_state(Room::default(), held))
        .layer(CatchPanicLayer::custom(panicked))
        .layer(from_fn_with_state(by, guard))
        .layer(CompressionLayer::new())
}

async fn accept(listener: &tokio::net::TcpListener, routes: &Router, is_stopped: impl Fn() -> bool) {
    let connections = Connections::new();
    let graceful = GracefulShutdown::new();
    while !is_stopped() {
        match timeout(STOP_CHECK, listener.accept()).await {
            Ok(Ok((stream, _))) => {
                if let Some(place) = place(&connections, &is_stopped).await {
                    serve(stream, (place, &connections), routes.clone(), &graceful);
                }
            }
            Ok(Err(_)) => {
                connections.close_longest_waiting();
                sleep(ACCEPT_AGAIN).await;
            }
            Err(_) => {}
        }
    }
    let _ = timeout(FAREWELL, graceful.shutdown()).await;
}

/// A place for a connection. If all connections have requests, it waits for one to end, and further
/// clients in the system's queue. `None` if the server is stopped.
async fn place(connections: &Connections, is_stopped: &impl Fn() -> bool) -> Option<OwnedSemaphorePermit> {
    if let Some(place) = connections.free_place() {
        return Some(place);
    }
    while !is_stopped() {
        connections.close_longest_waiting();
        if let Ok(place) = timeout(STOP_CHECK, connections.place()).await {
            return place;
        }
    }
    None
}

/// Serves a connection on a separate task.
fn serve(
    stream: TcpStream,
    (place, connections): (OwnedSemaphorePermit, &Connections),
    routes: Router,
    graceful: &GracefulShutdown,
) {
    let member = Member::new(connections);
    let of_service = member.clone();
    let service = service_fn(move |request: Request<Incoming>| {
        let (busy, routes) = (of_service.busy(), routes.clone());
        async move {
            let answer = routes.oneshot(request).await?;
            Ok::<_, Infallible>(answer.map(|body| with(body, busy)))
        }
    });
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), service);
    let connection = graceful.watch(connection);
    let (begin, begun) = oneshot::channel();
    let of_task = member.clone();
    let task = tokio::spawn(async move {
        // The connection is among the waiting ones before its first request is read.
        let _ = begun.await;
        // Errors of clients, such as disconnects, are not reported.
        let _ = timeout(CONNECTION, connection).await;
        of_task.end();
        drop(place);
    });
    member.wait(task.abort_handle());
    let _ = begin.send(());
}
