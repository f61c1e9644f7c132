//! The tables in SQLite, and their migration from older versions.

pub(crate) mod postgres;
mod subjects;

use crate::BUSY_TIMEOUT;
use crate::error::StoreError;
use rusqlite::{Connection, ErrorCode};
use rusqlite_migration::{Error as MigrationError, M, Migrations};
use std::path::Path;
use std::time::{Duration, Instant};

/// Identifies the file as Faultline's (`file` and `sqlite3` show it): "FLTL". The first step writes it.
const APPLICATION_ID: i64 = 0x464C_544C;

/// Number of steps.
const STEPS: usize = 16;

/// The first step, which writes the application id.
const FIRST: &str = include_str!("schema/0001_runs.sql");

/// Steps from each version of the tables to the next; a step that was released is never edited.
fn steps() -> Vec<M<'static>> {
    vec![
        M::up(FIRST),
        M::up(include_str!("schema/0002_readings.sql")),
        M::up(include_str!("schema/0003_sides.sql")),
        M::up(include_str!("schema/0004_datasets.sql")),
        M::up_with_hook(include_str!("schema/0005_subjects.sql"), subjects::make),
        M::up(include_str!("schema/0006_aggregates_and_conclusions.sql")),
        M::up(include_str!("schema/0007_seeds.sql")),
        M::up(include_str!("schema/0008_builds.sql")),
        M::up(include_str!("schema/0009_machines.sql")),
        M::up(include_str!("schema/0010_skipped.sql")),
        M::up(include_str!("schema/0011_kinds_and_sessions.sql")),
        M::up(include_str!("schema/0012_explained.sql")),
        M::up(include_str!("schema/0013_change_events.sql")),
        M::up(include_str!("schema/0014_conditions.sql")),
        M::up(include_str!("schema/0015_jobs.sql")),
        M::up(include_str!("schema/0016_consoles.sql")),
    ]
}

/// Checks that the file is ours and migrates its tables. Two processes may do so at the same time: the second one finds the file
/// locked or the tables incomplete, and tries again. Fails if the file is not ours, is of a newer version, or cannot be written.
pub(crate) fn prepare(connection: &mut Connection, path: &Path) -> Result<(), StoreError> {
    let until = Instant::now() + BUSY_TIMEOUT;
    loop {
        let version = check(connection, path)?;
        let prepared = configure(connection).map_err(MigrationError::from).and_then(|()| migrate(connection, version));
        match prepared {
            Ok(()) => return Ok(()),
            Err(error) if !overtaken(connection, version, &error) || Instant::now() > until => {
                return Err(not_set_up(path, error));
            }
            Err(_) => std::thread::sleep(Duration::from_millis(10)),
        }
    }
}

/// Whether the tables are up to date. Fails if the file is not ours, or of a newer version.
pub(crate) fn is_current(connection: &Connection, path: &Path) -> Result<bool, StoreError> {
    Ok(check(connection, path)? == STEPS)
}

/// The version of the tables. Fails if the file is not ours, or of a newer version.
fn check(connection: &Connection, path: &Path) -> Result<usize, StoreError> {
    let failed = |error| StoreError::from_sqlite("open", path.display(), &error);
    let number = |query: &str| connection.query_row(query, [], |row| row.get::<_, i64>(0)).map_err(failed);
    let empty = number("SELECT count(*) FROM sqlite_schema")? == 0;
    if !empty && number("PRAGMA application_id")? != APPLICATION_ID {
        return Err(StoreError::unusable(
            format!("{} is a database of another program", path.display()),
            "the file was not changed; `--db FILE` names another",
        ));
    }
    let version = number("PRAGMA user_version")? as usize;
    if version > STEPS {
        return Err(StoreError::unusable(
            format!("{} was written by a newer version of Faultline", path.display()),
            "use that version, or name another database with `--db FILE`",
        ));
    }
    Ok(version)
}

/// Uses a write-ahead log: readers and the writer then need not wait for each other. There is no sync at each commit, because it would
/// disturb the measurement: a killed process loses nothing, a power failure the last moments at most.
fn configure(connection: &Connection) -> rusqlite::Result<()> {
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "foreign_keys", true)
}

fn migrate(connection: &mut Connection, version: usize) -> Result<(), MigrationError> {
    if version == STEPS {
        return Ok(());
    }
    Migrations::new(steps()).to_latest(connection)
}

/// Whether `error` may come from another process that is setting up the same file.
fn overtaken(connection: &Connection, version: usize, error: &MigrationError) -> bool {
    let code = match error {
        MigrationError::RusqliteError { err, .. } => err.sqlite_error_code(),
        _ => None,
    };
    if matches!(code, Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked)) {
        return true;
    }
    let now = connection.query_row("PRAGMA user_version", [], |row| row.get::<_, i64>(0));
    now.is_ok_and(|now| now as usize != version)
}

fn not_set_up(path: &Path, error: MigrationError) -> StoreError {
    match error {
        MigrationError::RusqliteError { err, .. } => StoreError::from_sqlite("set up", path.display(), &err),
        other => StoreError::failed(
            format!("cannot migrate the tables of {}: {other}", path.display()),
            "`--db FILE` names another database",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_of_older_versions_are_read_from_their_texts() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("db.sqlite");
        let mut connection = Connection::open(&path).unwrap();
        Migrations::new(steps()).to_version(&mut connection, 8).unwrap();
        let settings = r#"{"cpus":[1],"repeats":1,"seed":1,"limit_ms":null,"size":null,"kind":{"kind":"timed","suite":null,"pin":"each",
            "oversubscribe":false,"budget_ms":null,"copies":1,"tree":null}}"#;
        connection.execute("INSERT INTO run (settings, workloads) VALUES (?1, '[]')", [settings]).unwrap();
        let subject = "INSERT INTO subject (run_id, number, name, what, setup, machine)
                       VALUES (1, ?1, '', '{\"kind\":\"system\"}', ?2, ?3)";
        let text = "qemu:cpus=2,sockets=1,memory=1024M,kernel=/k,boot_limit=42s,accel=tcg,append=a=1";
        connection.execute(subject, (0, "{}", "host")).unwrap();
        connection.execute(subject, (1, format!(r#"{{"on":"{text}"}}"#), text)).unwrap();
        drop(connection);
        let machines = |store: &crate::Store| -> Vec<String> {
            let subjects = store.load_head(faultline_model::record::RunId(1)).unwrap().subjects;
            assert_eq!(subjects[1].setup.on.as_ref(), Some(&subjects[1].machine));
            subjects.iter().map(|subject| subject.machine.to_string()).collect()
        };
        assert_eq!(machines(&crate::Store::open_existing(&path).unwrap()), ["host", text]);
    }

    #[test]
    fn the_steps_run_on_an_empty_database() {
        Migrations::new(steps()).validate().unwrap();
        assert_eq!(steps().len(), STEPS);
        assert_eq!(postgres::newest(), STEPS, "a step needs another one for PostgreSQL");
        assert!(FIRST.contains(&format!("PRAGMA application_id = {APPLICATION_ID};")));
    }
}
