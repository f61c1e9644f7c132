//! Locks that the server releases when our session ends, for any reason: our end, our death, or its own.
//!
//! They belong to the schema that holds the tables, so several databases of ours in one schema each do not disturb each other.

use super::session_name;
use crate::connection::{Connection, Result, params};
use std::thread;
use std::time::{Duration, Instant};

/// The number of the lock `?1`.
const KEY: &str = "hashtextextended('faultline ' || current_schema() || ' ' || CAST(?1 AS TEXT), 0)";

/// How long a lock may stay held after its session was closed at the other end.
const PATIENCE: Duration = Duration::from_secs(2);

/// Who holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Held {
    /// We do, until the session ends.
    ByUs,
    /// Another session does: the name that it gave itself.
    ByOther(String),
}

/// Takes the lock with that name until our session ends, unless another session holds it.
pub(crate) fn hold(connection: &Connection, name: &str) -> Result<Held> {
    take(connection, "pg_try_advisory_lock", name)
}

/// The same until our transaction ends.
pub(crate) fn hold_until_the_transaction_ends(connection: &Connection, name: &str) -> Result<Held> {
    take(connection, "pg_try_advisory_xact_lock", name)
}

/// Waits until no other session holds the lock with that name, and takes it until our transaction ends. Fails if that takes longer than a write may wait.
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

/// The name that the session gave itself which holds a lock.
fn holder(connection: &Connection, name: &str) -> Result<String> {
    let query = format!(
        "SELECT coalesce(activity.application_name, '') FROM pg_locks AS held JOIN pg_stat_activity AS activity ON activity.pid = held.pid
         WHERE held.granted AND {}",
        is_lock(KEY)
    );
    let names = connection.rows(&query, params![name], |row| row.get::<String>(0))?;
    Ok(session_name::of_session(names.first().map_or("", String::as_str)))
}

/// The condition on a row of `pg_locks AS held` that it is the lock of that number.
fn is_lock(key: &str) -> String {
    format!(
        "held.locktype = 'advisory' AND held.objsubid = 1
         AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database())
         AND ((CAST(held.classid AS BIGINT) << 32) | CAST(held.objid AS BIGINT)) = {key}"
    )
}

/// The condition on a row of `run` that no other session holds its lock.
pub(crate) fn is_free() -> String {
    let key = KEY.replace("CAST(?1 AS TEXT)", "'run ' || run.id");
    format!(
        "NOT EXISTS (SELECT 1 FROM pg_locks AS held WHERE held.granted AND held.pid <> pg_backend_pid() AND {})",
        is_lock(&key)
    )
}
