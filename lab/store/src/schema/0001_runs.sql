-- Runs and all that belongs to them. JSON columns hold structures of the crate `faultline-model`, read as a whole only.
PRAGMA application_id = 1179407436;

CREATE TABLE run (
    id        INTEGER PRIMARY KEY,
    label     TEXT,
    settings  TEXT NOT NULL,               -- JSON: Settings
    workloads TEXT NOT NULL,               -- JSON: [WorkloadInfo]
    finished  INTEGER NOT NULL DEFAULT 0   -- 0 or 1
) STRICT;

-- A stretch of a run, from its start or a resume.
CREATE TABLE session (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    number     INTEGER NOT NULL,
    started_ms INTEGER NOT NULL,           -- milliseconds since 1970
    facts      TEXT NOT NULL,              -- JSON: Facts
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;

CREATE TABLE item (
    run_id      INTEGER NOT NULL REFERENCES run (id),
    ordinal     INTEGER NOT NULL,
    block       INTEGER NOT NULL,
    workload    TEXT NOT NULL,
    variant     TEXT NOT NULL,
    mode        TEXT NOT NULL,             -- process, thread
    tasks       INTEGER NOT NULL,
    warmup_ms   INTEGER,                   -- the three are NULL for a workload that runs once
    window_ms   INTEGER,
    interval_ms INTEGER,
    skipped     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE attempt (
    id                  INTEGER PRIMARY KEY,
    run_id              INTEGER NOT NULL,
    ordinal             INTEGER NOT NULL,
    started_ms          INTEGER NOT NULL,
    ended_ms            INTEGER,
    outcome             TEXT,              -- JSON: Outcome; NULL while under way, or killed with the run
    final               INTEGER NOT NULL DEFAULT 0,
    bytes_per_operation INTEGER,
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
    text       TEXT NOT NULL,
    PRIMARY KEY (attempt_id, key)
) STRICT, WITHOUT ROWID;

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
    delta      INTEGER NOT NULL,
    PRIMARY KEY (attempt_id, name)
) STRICT, WITHOUT ROWID;

CREATE TABLE measure (
    attempt_id INTEGER NOT NULL REFERENCES attempt (id),
    number     INTEGER NOT NULL,
    name       TEXT NOT NULL,
    unit       TEXT NOT NULL,
    direction  TEXT NOT NULL CHECK (direction IN ('higher', 'lower')),
    value      REAL NOT NULL,
    PRIMARY KEY (attempt_id, number)
) STRICT, WITHOUT ROWID;
