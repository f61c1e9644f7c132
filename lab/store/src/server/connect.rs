//! Connects to a server within a time limit, and prepares the session.

use super::address::Address;
use super::session_name;
use crate::BUSY_TIMEOUT;
use crate::connection::{Connection, Session};
use crate::error::{StoreError, not_connected};
use postgres::{Client, Config, NoTls};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;
use tokio_postgres_rustls::MakeRustlsConnect;

/// A connection on which nothing is heard for so long is tried …
const SILENCE: Duration = Duration::from_secs(30);
/// … this often before it counts as lost, …
const TRIES: u32 = 3;
/// … so far apart.
const BETWEEN_TRIES: Duration = Duration::from_secs(10);
/// How long the server's machine may leave what was sent unacknowledged.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);

/// Connects to a database. Fails if that takes longer than the time limit, or if the server cannot be reached or refuses.
pub(crate) fn connect(address: &Address) -> Result<Connection, StoreError> {
    let limit = address.connect_limit();
    let mut config = address.config()?;
    config
        .connect_timeout(limit)
        .keepalives_idle(SILENCE)
        .keepalives_retries(TRIES)
        .keepalives_interval(BETWEEN_TRIES)
        .tcp_user_timeout(UNACKNOWLEDGED)
        .application_name(&session_name::own());
    let client = within(limit, config, address.encryption().connector()?).map_err(|problem| match problem {
        Some(error) => not_connected(address, &error),
        None => StoreError::unusable(
            format!("cannot connect to the database {address}: no answer within {} s", limit.as_secs()),
            "check the host, the port and what is between; `?connect_timeout=SECONDS` in the URL waits longer",
        ),
    })?;
    let session = Session::new(client);
    session.run(&settings()).map_err(|failure| StoreError::from_failure("open", address, failure))?;
    Ok(Connection::Postgres(Box::new(session)))
}

/// Connects on a thread of its own: the client limits only the time until a host accepts, and not the time until the server there answers. `None`: the limit has
/// passed. The thread then ends with the process, at the latest.
fn within(limit: Duration, config: Config, tls: Option<MakeRustlsConnect>) -> Result<Client, Option<postgres::Error>> {
    let (sender, receiver) = sync_channel(1);
    let connecting = move || {
        drop(sender.send(match tls {
            Some(tls) => config.connect(tls),
            None => config.connect(NoTls),
        }));
    };
    let started = thread::Builder::new().name("connecting".to_owned()).spawn(connecting);
    if started.is_err() {
        return Err(None);
    }
    match receiver.recv_timeout(limit) {
        Ok(connected) => connected.map_err(Some),
        Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => Err(None),
    }
}

/// A commit is on the server's disk when it is acknowledged, whatever the server's default. A statement does not wait for others forever.
fn settings() -> String {
    format!(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
         SET lock_timeout = '{}ms';
         SET client_min_messages = warning",
        BUSY_TIMEOUT.as_millis()
    )
}
