-- Work on histories that somebody asked for, and what came of it. A job belongs to no run, and stays when runs are deleted.
CREATE TABLE job (
    id       INTEGER PRIMARY KEY,
    series   TEXT NOT NULL,              -- JSON: SeriesName
    work     TEXT NOT NULL,              -- JSON: JobWork
    asked_by TEXT NOT NULL,
    asked_ms INTEGER NOT NULL,
    state    TEXT NOT NULL,              -- waiting, taken, done, failed, withdrawn
    worker   TEXT,                       -- the machine that took it
    since_ms INTEGER NOT NULL,
    run_id   INTEGER,                     -- the run that did it; it may have been deleted since
    problem  TEXT                        -- why it failed
) STRICT;
CREATE INDEX job_of_state ON job (state, id);
