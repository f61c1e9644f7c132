//! The tables with their columns, for those who treat all of them alike. A test compares the list with the tables that databases have.

/// A table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Table {
    /// Its name.
    pub(crate) name: &'static str,
    /// Its columns. The first ones identify a row.
    pub(crate) columns: &'static [&'static str],
    /// How many of them identify a row.
    pub(crate) key: usize,
    /// Whether the database numbers its rows, in the first column.
    pub(crate) is_numbered: bool,
}

const fn table(name: &'static str, key: usize, columns: &'static [&'static str]) -> Table {
    Table { name, columns, key, is_numbered: false }
}

const fn numbered(name: &'static str, columns: &'static [&'static str]) -> Table {
    Table { name, columns, key: 1, is_numbered: true }
}

/// All tables, each after those that its rows refer to. Conclusions are last, because other rows drop them.
pub(crate) const TABLES: &[Table] = &[
    numbered("run", &["id", "label", "settings", "workloads", "finished", "kind", "suite", "cpus", "machine"]),
    table("session", 2, &["run_id", "number", "started_ms"]),
    table("session_facts", 3, &["run_id", "session", "subject", "facts"]),
    table(
        "subject",
        2,
        &["run_id", "number", "name", "what", "commit_id", "repository", "setup", "machine", "build", "kind"],
    ),
    table(
        "item",
        2,
        &[
            "run_id",
            "ordinal",
            "block",
            "workload",
            "variant",
            "mode",
            "tasks",
            "warmup_ms",
            "window_ms",
            "interval_ms",
            "skipped",
            "subject",
            "seed",
        ],
    ),
    numbered(
        "attempt",
        &[
            "id",
            "run_id",
            "ordinal",
            "started_ms",
            "ended_ms",
            "outcome",
            "final",
            "bytes_per_operation",
            "outcome_kind",
            "session",
        ],
    ),
    table("sample", 3, &["attempt_id", "phase", "number", "from_ns", "to_ns", "operations"]),
    table("note", 2, &["attempt_id", "key", "text"]),
    table(
        "usage",
        1,
        &[
            "attempt_id",
            "scope",
            "user_ns",
            "system_ns",
            "minor_faults",
            "major_faults",
            "voluntary_switches",
            "involuntary_switches",
        ],
    ),
    table("counter", 2, &["attempt_id", "name", "delta"]),
    table("measure", 2, &["attempt_id", "number", "name", "unit", "direction", "value"]),
    table("reading", 1, &["attempt_id", "format", "json"]),
    table("console", 1, &["attempt_id", "text"]),
    table("explained", 1, &["run_id", "json"]),
    numbered("dataset", &["id", "name", "source", "imported_ms", "json", "series", "points"]),
    numbered("change_event", &["id", "subject", "repository", "tasks", "measure", "kind", "json", "conditions"]),
    numbered(
        "job",
        &["id", "series", "work", "asked_by", "asked_ms", "state", "worker", "since_ms", "run_id", "problem"],
    ),
    table("conclusion", 2, &["run_id", "kind", "method", "json"]),
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_list_has_the_tables_and_keys_that_a_database_has() {
        let directory = tempfile::tempdir().unwrap();
        let (connection, _file) = crate::file::open_or_create(&directory.path().join("db.sqlite")).unwrap();
        let query = "SELECT tables.name, columns.name, columns.pk > 0
                     FROM sqlite_schema AS tables, pragma_table_info(tables.name) AS columns WHERE tables.type = 'table'";
        let mut statement = connection.prepare(query).unwrap();
        let there = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?))).unwrap();
        let there: BTreeSet<(String, String, bool)> = there.map(Result::unwrap).collect();
        let listed = TABLES.iter().flat_map(|table| {
            let is_key = move |at: usize| at < table.key;
            (table.columns.iter().enumerate())
                .map(move |(at, column)| (table.name.to_owned(), (*column).to_owned(), is_key(at)))
        });
        assert_eq!(listed.collect::<BTreeSet<_>>(), there);
    }
}
