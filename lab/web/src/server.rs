//! The server: accepts connections, bounded in number and time, and answers them until it is told to stop.

use crate::guard::{Guard, guard};
use crate::held::{Room, held};
use crate::hosts::Hosts;
use crate::log::Log;
use crate::problem::Problem;
use crate::quirks::DeclaredQuirks;
use crate::refused::{other_method, unknown, unreadable};
use crate::state::State;
use crate::token::Tokens;
use crate::unchanged::unchanged;
use crate::{api, pages};
use axum::Router;
use axum::middleware::{from_fn, from_fn_with_state};
use axum::response::IntoResponse;
use faultline_experiment::{Error, Places, stored};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_io_timeout::TimeoutStream;
use tower_http::catch_panic::CatchPanicLayer;
use tower_http::compression::CompressionLayer;

/// Threads that serve connections. They only wait and copy; reads have threads of their own.
const THREADS: usize = 2;
/// Connections at once. Further clients wait in the system's queue.
const MOST_CONNECTIONS: usize = 1024;
/// Longest time for the head of a request, and between two requests.
const HEAD: Duration = Duration::from_secs(30);
/// Longest life of a connection, however slowly its client reads.
const CONNECTION: Duration = Duration::from_secs(600);
/// Longest time for which a client may read nothing of its answer. Answers stay in memory until they are read ([`crate::held`]).
const STALLED: Duration = Duration::from_secs(20);
/// Longest head of a request, in bytes.
const HEAD_BYTES: usize = 32 * 1024;
/// How often it looks whether it is to stop.
const STOP_CHECK: Duration = Duration::from_millis(100);
/// How long requests may take to end when it stops.
const FAREWELL: Duration = Duration::from_secs(5);
/// Pause after a connection could not be accepted: there are too many open files.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// What a server is asked for.
pub struct ServeRequest {
    /// Where it listens. Port 0: any that is free.
    pub listen: SocketAddr,
    /// Who may read; `None`: everybody who reaches it, which is possible on loopback only.
    pub tokens: Option<Tokens>,
    /// Names by which a proxy in front is known, besides `localhost` and addresses in numbers.
    pub hosts: Vec<String>,
    /// Quirks that are not in the database.
    pub quirks: DeclaredQuirks,
    /// Takes a line about something that failed inside.
    pub log: Arc<dyn Fn(&str) + Send + Sync>,
}

/// A server that listens.
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    routes: Router,
}

impl Server {
    /// Listens. Fails if the database cannot be read, if it can be reached from other machines without a token, or if the address is taken.
    pub fn bind(request: ServeRequest, places: Places) -> Result<Self, Error> {
        if !request.listen.ip().is_loopback() && request.tokens.is_none() {
            return Err(Error::usage(
                format!("{} can be reached from other machines, and no token is asked for", request.listen),
                "`--token-file FILE` names a file of tokens; `--new-token FILE` makes one",
            ));
        }
        if !request.hosts.is_empty() && request.tokens.is_none() {
            return Err(Error::usage(
                "a proxy in front can be reached from other machines, and no token is asked for",
                "`--token-file FILE` names a file of tokens; `--new-token FILE` makes one",
            ));
        }
        stored::runs(&places)?;
        let taken = |error: std::io::Error| {
            Error::usage(
                format!("cannot listen on {}: {error}", request.listen),
                "`--listen ADDRESS:PORT` takes another; port 0 is any that is free",
            )
        };
        let listener = TcpListener::bind(request.listen).map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        listener.set_nonblocking(true).map_err(taken)?;
        let state = State::new(places, request.log, request.quirks, request.tokens.is_some());
        let guard =
            Guard { hosts: Arc::new(Hosts::new(request.listen, &request.hosts)), tokens: request.tokens.map(Arc::new) };
        Ok(Server { listener, address, routes: routes(state, guard) })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves until `is_stopped`. Fails if the system refuses threads.
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
        // A read that takes long is not waited for.
        runtime.shutdown_background();
        served
    }
}

fn routes(state: State, by: Guard) -> Router {
    let log = Log::clone(&state.reader.log);
    let panicked = move |_: Box<dyn std::any::Any + Send>| {
        log("a request made the server panic; this is a mistake in it");
        Problem::internal().into_response()
    };
    Router::new()
        .nest("/api/v1", api::routes(state.clone()))
        .merge(pages::routes(state))
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
    let places = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    let graceful = GracefulShutdown::new();
    while !is_stopped() {
        let Ok(Ok(place)) = timeout(STOP_CHECK, Arc::clone(&places).acquire_owned()).await else { continue };
        match timeout(STOP_CHECK, listener.accept()).await {
            Ok(Ok((stream, _))) => serve(stream, place, routes.clone(), &graceful),
            Ok(Err(_)) => sleep(ACCEPT_AGAIN).await,
            Err(_) => {}
        }
    }
    let _ = timeout(FAREWELL, graceful.shutdown()).await;
}

/// Serves a connection on a task of its own.
fn serve(stream: TcpStream, place: OwnedSemaphorePermit, routes: Router, graceful: &GracefulShutdown) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(STALLED));
    let connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(HEAD)
        .max_buf_size(HEAD_BYTES)
        .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(routes));
    let connection = graceful.watch(connection);
    tokio::spawn(async move {
        // That a client goes away, or sends garbage, is nothing to report.
        let _ = timeout(CONNECTION, connection).await;
        drop(place);
    });
}
