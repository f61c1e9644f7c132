-- The tables of both kinds of database, in SQLite's dialect. schema.rs translates them for
-- PostgreSQL and reads their columns from here: one column per line, each table after those that it
-- refers to.
--
-- Columns marked JSON hold structures of the crate `faultline-record`, always read whole. Booleans
-- are 0 or 1.

CREATE TABLE run (
    id        INTEGER PRIMARY KEY,
    label     TEXT,
    settings  TEXT NOT NULL,               -- JSON: Settings
    workloads TEXT NOT NULL,               -- JSON: [WorkloadInfo]
    finished  INTEGER NOT NULL DEFAULT 0,
    -- For the list of runs, which then parses neither settings nor facts.
    kind      TEXT NOT NULL,               -- kind of the settings, or deleted
    suite     TEXT,
    cpus      TEXT NOT NULL,               -- JSON: numbers of tasks
    machine   TEXT NOT NULL                -- host and kernel
) STRICT;

-- A run's time from its start, or from a resume, to its end.
CREATE TABLE session (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    number     INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,           -- milliseconds since 1970
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX session_by_begin_of_run ON session (started_ms) WHERE number = 0;

-- The machine of each subject at the start of each session.
CREATE TABLE session_facts (
    run_id  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    facts   TEXT NOT NULL,                 -- JSON: Facts
    PRIMARY KEY (run_id, session, subject),
    FOREIGN KEY (run_id, session) REFERENCES session (run_id, number)
) STRICT, WITHOUT ROWID;

-- Measured subject and its machine: one row in a plain run, two in a comparison.
CREATE TABLE subject (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    number     INTEGER NOT NULL,           -- position among the run's subjects, from 0
    name       TEXT NOT NULL,
    what       TEXT NOT NULL,              -- JSON: SubjectKind
    commit_id  TEXT COLLATE BINARY,        -- lower-case hexadecimal; a range of names is a range of bytes
    repository TEXT,
    setup      TEXT NOT NULL,              -- JSON: Setup
    machine    TEXT NOT NULL,              -- JSON: Machine
    build      TEXT,                       -- JSON: BuildResult; NULL if Faultline did not build it
    kind       TEXT NOT NULL,              -- `kind` of `what`
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX subject_by_commit ON subject (commit_id) WHERE commit_id IS NOT NULL;

CREATE TABLE item (
    run_id      INTEGER NOT NULL REFERENCES run (id),
    ordinal     INTEGER NOT NULL,
    block       INTEGER NOT NULL,
    workload    TEXT NOT NULL,
    variant     TEXT NOT NULL,
    mode        TEXT NOT NULL,             -- process, thread
    tasks       INTEGER NOT NULL,
    warmup_ms   INTEGER,                   -- all three times are NULL for a workload that runs once
    window_ms   INTEGER,
    interval_ms INTEGER,
    skipped     INTEGER NOT NULL DEFAULT 0,
    subject     INTEGER NOT NULL,
    seed        INTEGER,                   -- of the guest's random numbers; NULL outside lens runs
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX item_skipped ON item (run_id, ordinal) WHERE skipped = 1;

CREATE TABLE attempt (
    id                  INTEGER PRIMARY KEY,
    run_id              INTEGER NOT NULL,
    ordinal             INTEGER NOT NULL,
    started_ms          INTEGER NOT NULL,
    ended_ms            INTEGER,
    outcome             TEXT,              -- JSON: Outcome; NULL while the attempt runs, or if it was killed with the run
    final               INTEGER NOT NULL DEFAULT 0,
    bytes_per_operation INTEGER,
    outcome_kind        TEXT,              -- `kind` of the outcome
    session             INTEGER NOT NULL,  -- number of the session in which it began; clocks may be set back
    checksum            TEXT,              -- of its rows and its item; NULL while the outcome is
    FOREIGN KEY (run_id, ordinal) REFERENCES item (run_id, ordinal)
) STRICT;
-- Each item ends once.
CREATE UNIQUE INDEX one_final_attempt ON attempt (run_id, ordinal) WHERE final = 1;
CREATE INDEX attempt_of_run ON attempt (run_id, id);

CREATE TABLE sample (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    phase      TEXT NOT NULL CHECK (phase IN ('warmup', 'window')),
    number     INTEGER NOT NULL,
    from_ns    INTEGER NOT NULL,           -- since the workload started
    to_ns      INTEGER NOT NULL,
    operations TEXT NOT NULL,              -- JSON: one number per task
    PRIMARY KEY (attempt_id, phase, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE note (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    key        TEXT NOT NULL,
    text       TEXT NOT NULL
) STRICT;

CREATE TABLE usage (
    attempt_id           INTEGER PRIMARY KEY REFERENCES attempt (id),
    scope                TEXT NOT NULL CHECK (scope IN ('window', 'life')),
    user_ns              INTEGER NOT NULL,
    system_ns            INTEGER NOT NULL,
    minor_faults         INTEGER NOT NULL,
    major_faults         INTEGER NOT NULL,
    voluntary_switches   INTEGER NOT NULL,
    involuntary_switches INTEGER NOT NULL
) STRICT;

CREATE TABLE counter (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    name       TEXT NOT NULL,
    delta      INTEGER NOT NULL
) STRICT;

CREATE TABLE measure (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    number     INTEGER NOT NULL,
    name       TEXT NOT NULL,
    unit       TEXT NOT NULL,
    direction  TEXT NOT NULL CHECK (direction IN ('higher', 'lower')),
    value      REAL NOT NULL,
    PRIMARY KEY (attempt_id, number)
) STRICT, WITHOUT ROWID;

-- The lens's counts of an attempt, with names; at most one.
CREATE TABLE reading (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempt (id),
    format     TEXT NOT NULL,              -- name and version of the format of `json`
    json       TEXT NOT NULL               -- JSON: Reading
) STRICT;

-- The last console output of the machine booted for an attempt, unless the outcome contains it.
CREATE TABLE console (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempt (id),
    text       TEXT NOT NULL               -- at most 16 KiB, without control characters
) STRICT;

-- Details of the steps of a finished search, other than their values, from the repository and the
-- builds.
CREATE TABLE explained (
    run_id INTEGER PRIMARY KEY REFERENCES run (id),
    json   TEXT NOT NULL                   -- JSON: [StepExplained]
) STRICT;

-- Figures of other tools. A name refers to the newest row with it; older ones stay.
CREATE TABLE dataset (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    source      TEXT NOT NULL,             -- name of the imported format
    imported_ms INTEGER NOT NULL,          -- milliseconds since 1970
    json        TEXT NOT NULL,             -- JSON: Dataset
    series      INTEGER NOT NULL,          -- number of benchmarks
    points      INTEGER NOT NULL           -- number of runs of all benchmarks
) STRICT;

-- States of changes in histories, set by users, and notifications sent: rows are only added. A row
-- belongs to no run and stays when runs are deleted.
CREATE TABLE change_event (
    id         INTEGER PRIMARY KEY,
    subject    TEXT NOT NULL,
    repository TEXT NOT NULL,
    tasks      INTEGER NOT NULL,
    measure    TEXT NOT NULL,              -- time, cpu-time, transfers, ...
    conditions TEXT NOT NULL,              -- digest of recipe, command, measure and machine
    kind       TEXT NOT NULL,              -- said, notified
    json       TEXT NOT NULL               -- JSON: PlacedEvent, or ChangePlace
) STRICT;

-- Requested work on histories, and its results. A job belongs to no run and stays when runs are
-- deleted.
CREATE TABLE job (
    id       INTEGER PRIMARY KEY,
    series   TEXT NOT NULL,                -- JSON: SeriesName
    work     TEXT NOT NULL,                -- JSON: JobWork
    asked_by TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    state    TEXT NOT NULL,                -- waiting, taken, done, failed, withdrawn
    worker   TEXT,                         -- the machine that took it
    since_ms INTEGER NOT NULL,
    run_id   INTEGER,                      -- the run that did it; it may have been deleted since
    problem  TEXT                          -- why it failed
) STRICT;
CREATE INDEX job_of_state ON job (state, id);

-- Conclusions of finished runs. Triggers drop them when the record of the run changes, so this
-- table comes last.
CREATE TABLE conclusion (
    run_id INTEGER NOT NULL REFERENCES run (id),
    kind   TEXT NOT NULL,                  -- figures, comparison
    method INTEGER NOT NULL,               -- version of the method that computed it
    json   TEXT NOT NULL,                  -- JSON: RunSummary, Comparison
    PRIMARY KEY (run_id, kind)
) STRICT;
