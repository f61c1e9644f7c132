//! Connections to a PostgreSQL server, and locks of its sessions.
//!
//! The server releases a session's locks when the session ends for any reason. Locks belong to the
//! schema with the tables, so databases in schemas of one server do not affect each other.

mod address;
mod encryption;

pub(crate) use address::Address;

use crate::BUSY_TIMEOUT;
use crate::connection::{Connection, Result, Session, params};
use crate::error::{StoreError, not_connected};
use postgres::{Client, Config, NoTls};
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};
use tokio_postgres_rustls::MakeRustlsConnect;

/// Silence after which the connection is probed.
const SILENCE: Duration = Duration::from_secs(30);
/// Unanswered probes after which the connection counts as lost.
const TRIES: u32 = 3;
/// Time between two probes.
const BETWEEN_TRIES: Duration = Duration::from_secs(10);
/// Time after which unacknowledged data means a lost connection.
const UNACKNOWLEDGED: Duration = Duration::from_secs(60);

/// Connects to a database. Fails after the time limit, or if the server cannot be reached or
/// refuses.
pub(crate) fn connect(address: &Address) -> Result<Connection, StoreError> {
    let limit = address.connect_limit();
    let mut config = address.config()?;
    config
        .connect_timeout(limit)
        .keepalives_idle(SILENCE)
        .keepalives_retries(TRIES)
        .keepalives_interval(BETWEEN_TRIES)
        .tcp_user_timeout(UNACKNOWLEDGED)
        .application_name(&session_name());
    let client = within(limit, config, address.encryption().connector()?).map_err(|problem| match problem {
        Some(error) => not_connected(address, &error),
        None => StoreError::unusable(
            format!("cannot connect to the database {address}: no answer within {} s", limit.as_secs()),
            "check host, port and network; `?connect_timeout=SECONDS` in the URL sets a longer limit",
        ),
    })?;
    let session = Session::new(client);
    session.run(&settings()).map_err(|failure| StoreError::from_failure("open", address, failure))?;
    Ok(Connection::Postgres(Box::new(session)))
}

/// Connects on a separate thread, because the client limits only the time until a host accepts, not
/// until the server answers. Fails with `None` after the limit; the thread then ends with the
/// process at the latest.
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

/// Settings of a session: an acknowledged commit is on the server's disk, and statements wait for
/// others for a limited time.
fn settings() -> String {
    format!(
        "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off';
         SET lock_timeout = '{}ms';
         SET client_min_messages = warning",
        BUSY_TIMEOUT.as_millis()
    )
}

/// Key of the lock named `?1`.
const KEY: &str = "hashtextextended('faultline ' || current_schema() || ' ' || CAST(?1 AS TEXT), 0)";

/// Time for which a lock may remain held after its session was closed at the other end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Holder of a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// This session, until it ends.
    ByUs,
    /// Another session, with its name.
    ByOther(String),
}

/// Takes a lock until the session ends, unless another session holds it.
pub(crate) fn hold(connection: &Connection, name: &str) -> Result<Held> {
    take(connection, "pg_try_advisory_lock", name)
}

/// Takes a lock until the transaction ends, unless another session holds it.
pub(crate) fn hold_until_the_transaction_ends(connection: &Connection, name: &str) -> Result<Held> {
    take(connection, "pg_try_advisory_xact_lock", name)
}

/// Waits for a lock, and takes it until the transaction ends. Fails after the time limit of writes.
pub(crate) fn wait_for(name: &str, transaction: &Connection) -> Result<()> {
    transaction.rows(&format!("SELECT pg_advisory_xact_lock({KEY})"), params![name], |_| Ok(())).map(drop)
}

fn take(connection: &Connection, function: &str, name: &str) -> Result<Held> {
    let until = Instant::now() + PATIENCE;
    loop {
        if connection.row(&format!("SELECT {function}({KEY})"), params![name], |row| row.get(0))? {
            return Ok(Held::ByUs);
        }
        if Instant::now() > until {
            return Ok(Held::ByOther(holder(connection, name)?));
        }
        thread::sleep(Duration::from_millis(50));
    }
}

/// The name of the session that holds a lock.
fn holder(connection: &Connection, name: &str) -> Result<String> {
    let query = format!(
        "SELECT coalesce(activity.application_name, '') FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
         WHERE held.granted AND {}",
        is_lock(KEY)
    );
    let names = connection.rows(&query, params![name], |row| row.get::<String>(0))?;
    Ok(shown_name(names.first().map_or("", String::as_str)))
}

/// SQL condition: the row of `pg_locks AS held` is the lock with this key.
fn is_lock(key: &str) -> String {
    format!(
        "held.locktype = 'advisory' AND held.objsubid = 1
         AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND ((CAST(held.classid AS BIGINT) << 32) | CAST(held.objid AS BIGINT)) = {key}"
    )
}

/// SQL condition: no other session holds the lock of the row of `run`.
pub(crate) fn is_free() -> String {
    let key = KEY.replace("CAST(?1 AS TEXT)", "'run ' || run.id");
    format!(
        "NOT EXISTS (SELECT 1 FROM pg_locks AS held WHERE held.granted AND held.pid <> pg_backend_pid() AND {})",
        is_lock(&key)
    )
}

/// Start of the names of Faultline's sessions.
const PROGRAM: &str = "faultline, ";

/// The name of our sessions: process and machine.
fn session_name() -> String {
    // The server cuts names off after 63 bytes.
    const MACHINE_BYTES: usize = 32;
    let machine = rustix::system::uname();
    let machine = machine.nodename().to_string_lossy();
    let machine: String = machine.chars().filter(char::is_ascii_graphic).take(MACHINE_BYTES).collect();
    format!("{PROGRAM}process {} on {machine}", std::process::id())
}

/// Process and machine of a session; for another program's session, its name.
fn shown_name(name: &str) -> String {
    match name {
        "" => "another session".to_owned(),
        name => name.strip_prefix(PROGRAM).unwrap_or(name).to_owned(),
    }
}
