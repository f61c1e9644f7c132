//! The tables in PostgreSQL, and their migration from older versions. Their versions are those of SQLite's tables.

use crate::connection::{Connection, Purpose, Result, params};
use crate::error::StoreError;
use crate::server;
use std::fmt::Display;

/// A step from the version before to this one; a step that was released is never edited.
struct Step {
    version: usize,
    statements: &'static str,
}

/// The first step makes all tables, so no database has an older version.
const STEPS: &[Step] = &[
    Step { version: 12, statements: include_str!("postgres/0012_all.sql") },
    Step { version: 13, statements: include_str!("postgres/0013_change_events.sql") },
    Step { version: 14, statements: include_str!("postgres/0014_conditions.sql") },
    Step { version: 15, statements: include_str!("postgres/0015_jobs.sql") },
    Step { version: 16, statements: include_str!("postgres/0016_consoles.sql") },
];

/// The version of the tables after the last step.
#[cfg(test)]
pub(crate) fn newest() -> usize {
    STEPS[STEPS.len() - 1].version
}

/// What there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tables {
    /// None of ours, and none of another program.
    None,
    /// Another program's.
    Foreign,
    /// Ours, of that version.
    Ours(usize),
}

/// Makes or migrates the tables. Several sessions may do so at the same time. Fails if the schema has another program's tables, or ours of a newer version, or if the user may
/// not do that.
pub(crate) fn create_or_migrate(connection: &Connection, place: &dyn Display) -> Result<(), StoreError> {
    migrate(connection, STEPS, true, place).map(drop)
}

/// Migrates the tables, and returns whether there are any. Fails like [`create_or_migrate`].
pub(crate) fn migrate_if_there(connection: &Connection, place: &dyn Display) -> Result<bool, StoreError> {
    migrate(connection, STEPS, false, place)
}

/// Fails if the tables could not be written, or made if there are none. Makes nothing.
pub(crate) fn check_writable(connection: &Connection, place: &dyn Display) -> Result<(), StoreError> {
    let tables = check(connection, STEPS, place)?;
    let may_write = match tables {
        Tables::Ours(_) => "has_table_privilege('run', 'INSERT')",
        Tables::None | Tables::Foreign => "has_schema_privilege(current_schema(), 'CREATE')",
    };
    let query = format!(
        "SELECT coalesce({may_write}, false), current_setting('transaction_read_only') = 'off', CAST(current_user AS TEXT)"
    );
    let answer = connection.row(&query, params![], |row| Ok((row.get(0)?, row.get(1)?, row.get::<String>(2)?)));
    let (may_write, is_writable, user): (bool, bool, _) =
        answer.map_err(|failure| StoreError::from_failure("open", place, failure))?;
    if may_write && is_writable {
        return Ok(());
    }
    let who = if may_write { "nobody".to_owned() } else { format!("the user {user}") };
    Err(StoreError::unusable(
        format!("{who} may write the database {place}"),
        "docs/STORE.md lists the privileges; `--db` names another database",
    ))
}

/// What there is. Fails if that is no database of this version, or of an older one.
fn check(connection: &Connection, steps: &[Step], place: &dyn Display) -> Result<Tables, StoreError> {
    let (encoding, tables) = tables(connection).map_err(|failure| StoreError::from_failure("open", place, failure))?;
    if encoding != "UTF8" {
        return Err(StoreError::unusable(
            format!("the database {place} has the encoding {encoding}, and not UTF8"),
            "`createdb --encoding UTF8 --template template0` makes one that has",
        ));
    }
    let (oldest, newest) = (steps[0].version, steps[steps.len() - 1].version);
    match tables {
        Tables::Foreign => Err(StoreError::unusable(
            format!("{place} is a database of another program"),
            "nothing was changed; make a database or a schema for Faultline (docs/STORE.md), and name it with `--db`",
        )),
        Tables::Ours(version) if version > newest => Err(StoreError::unusable(
            format!("{place} was written by a newer version of Faultline"),
            "use that version, or name another database with `--db`",
        )),
        Tables::Ours(version) if version < oldest => Err(StoreError::unusable(
            format!("the tables of {place} have the version {version}, which cannot be migrated"),
            "the database was changed by hand; restore a backup, or name another database with `--db`",
        )),
        other => Ok(other),
    }
}

/// The server's encoding, and what there is in the schemas of the search path.
fn tables(connection: &Connection) -> Result<(String, Tables)> {
    let query = "SELECT current_setting('server_encoding'), to_regclass('faultline_schema') IS NOT NULL,
                        EXISTS (SELECT 1 FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm', 'f')
                                AND relnamespace = to_regnamespace(quote_ident(current_schema())))";
    let read = |row: &crate::connection::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (encoding, is_ours, has_tables): (String, bool, bool) = connection.row(query, params![], read)?;
    let tables = match (is_ours, has_tables) {
        (true, _) => Tables::Ours(connection.row("SELECT version FROM faultline_schema", params![], |row| row.get(0))?),
        (false, true) => Tables::Foreign,
        (false, false) => Tables::None,
    };
    Ok((encoding, tables))
}

/// Brings the tables to the version of the last step, and returns whether there are any.
fn migrate(connection: &Connection, steps: &[Step], may_create: bool, place: &dyn Display) -> Result<bool, StoreError> {
    let newest = steps[steps.len() - 1].version;
    match check(connection, steps, place)? {
        Tables::Ours(version) if version == newest => return Ok(true),
        Tables::None if !may_create => return Ok(false),
        _ => {}
    }
    let migrated = connection.transaction(Purpose::Write, |transaction| {
        server::wait_for("schema", transaction)?;
        // Another session may have been first.
        let before = match tables(transaction)?.1 {
            Tables::Ours(version) => version,
            Tables::None | Tables::Foreign => {
                transaction.run_statements(
                    "CREATE TABLE faultline_schema (version BIGINT NOT NULL); INSERT INTO faultline_schema VALUES (0)",
                )?;
                0
            }
        };
        for step in steps.iter().filter(|step| step.version > before) {
            transaction.run_statements(step.statements)?;
        }
        let version = newest.max(before) as i64;
        transaction.execute("UPDATE faultline_schema SET version = ?1", params![version])
    });
    migrated.map_err(|failure| StoreError::from_failure("set up", place, failure))?;
    Ok(true)
}

/// A server for the tests.
#[cfg(test)]
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "../../tests/place/server.rs"]
mod own_server;

#[cfg(test)]
mod tests {
    use super::own_server::Server;
    use super::*;
    use crate::connection::Result;
    use crate::server::{Address, connect};

    fn number(connection: &Connection, query: &str) -> Result<i64> {
        connection.row(query, params![], |row| row.get(0))
    }

    #[test]
    fn tables_of_each_older_version_are_migrated_with_what_they_hold() {
        let server = Server::start();
        let open = |schema: &str| connect(&Address::parse(&server.url("postgres", schema)).unwrap()).unwrap();
        for known in 1..STEPS.len() {
            let schema = format!("known{known}");
            open("public").run_statements(&format!("CREATE SCHEMA {schema}")).unwrap();
            let connection = open(&schema);
            assert!(migrate(&connection, &STEPS[..known], true, &"here").unwrap());
            connection
                .run_statements("INSERT INTO run (settings, workloads, label) VALUES ('{}', '[]', 'old')")
                .unwrap();
            create_or_migrate(&connection, &"here").unwrap();
            assert_eq!(number(&connection, "SELECT version FROM faultline_schema").unwrap(), newest() as i64);
            assert_eq!(number(&connection, "SELECT count(*) FROM run WHERE label = 'old'").unwrap(), 1);
            assert_eq!(number(&connection, "SELECT count(*) FROM job").unwrap(), 0);
            assert_eq!(number(&connection, "SELECT count(*) FROM console").unwrap(), 0);
        }
    }

    #[test]
    fn each_step_is_made_once_and_whole() {
        let server = Server::start();
        let open = || connect(&Address::parse(&server.url("postgres", "public")).unwrap()).unwrap();
        let connection = open();
        create_or_migrate(&connection, &"here").unwrap();
        connection.run_statements("INSERT INTO run (settings, workloads) VALUES ('{}', '[]')").unwrap();

        let step = |version, statements| Step { version, statements };
        let mut later: Vec<Step> = STEPS.iter().map(|known| step(known.version, known.statements)).collect();
        later.push(step(newest() + 1, "ALTER TABLE run ADD COLUMN further BIGINT NOT NULL DEFAULT 7"));
        later.push(step(newest() + 2, "UPDATE run SET further = further + 1"));
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert!(migrate(&open(), &later, false, &"here").unwrap()));
            }
        });
        let further = "SELECT further FROM run";
        assert_eq!(number(&connection, further).unwrap(), 8, "once, whoever was first");
        let refused = create_or_migrate(&connection, &"here").unwrap_err();
        assert_eq!(refused.problem, "here was written by a newer version of Faultline");

        later.push(step(newest() + 3, "UPDATE run SET further = 0; SELECT * FROM nothing"));
        assert!(
            migrate(&connection, &later, false, &"here")
                .unwrap_err()
                .problem
                .starts_with("cannot set up the database here: ")
        );
        assert_eq!(number(&connection, further).unwrap(), 8);
        assert_eq!(number(&connection, "SELECT version FROM faultline_schema").unwrap(), newest() as i64 + 2);
    }
}
