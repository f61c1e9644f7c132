-- What is measured and where: one row in a plain run, two in a comparison. The code of this step (subjects.rs) fills it from the settings of older runs.
CREATE TABLE subject (
    run_id     INTEGER NOT NULL REFERENCES run (id),
    number     INTEGER NOT NULL,           -- place among the run's subjects, from 0
    name       TEXT NOT NULL,
    what       TEXT NOT NULL,              -- JSON: SubjectKind
    commit_id  TEXT,                       -- hexadecimal, lower case
    repository TEXT,
    setup      TEXT NOT NULL,              -- JSON: Setup
    machine    TEXT NOT NULL,              -- as `--on` names it
    PRIMARY KEY (run_id, number)
) STRICT, WITHOUT ROWID;
CREATE INDEX subject_by_commit ON subject (commit_id) WHERE commit_id IS NOT NULL;

-- The machine of each subject at the beginning of each session.
CREATE TABLE session_facts (
    run_id  INTEGER NOT NULL,
    session INTEGER NOT NULL,
    subject INTEGER NOT NULL,
    facts   TEXT NOT NULL,                 -- JSON: Facts
    PRIMARY KEY (run_id, session, subject),
    FOREIGN KEY (run_id, session) REFERENCES session (run_id, number)
) STRICT, WITHOUT ROWID;
INSERT INTO session_facts SELECT run_id, number, 0, facts FROM session;
INSERT INTO session_facts
    SELECT session.run_id, session.number, 1, coalesce(session.facts_b, session.facts)
    FROM session JOIN run ON run.id = session.run_id
    WHERE json_extract(run.settings, '$.comparison') IS NOT NULL;
ALTER TABLE session DROP COLUMN facts_b;
ALTER TABLE session DROP COLUMN facts;

ALTER TABLE item ADD COLUMN subject INTEGER NOT NULL DEFAULT 0;
UPDATE item SET subject = 1 WHERE side = 'b';
ALTER TABLE item DROP COLUMN side;

-- What a list of runs shows, so that it parses no settings and no facts.
ALTER TABLE run ADD COLUMN kind TEXT NOT NULL DEFAULT 'timed';     -- timed, comparison, lens
ALTER TABLE run ADD COLUMN suite TEXT;
ALTER TABLE run ADD COLUMN cpus TEXT NOT NULL DEFAULT '[]';        -- JSON: numbers of tasks
ALTER TABLE run ADD COLUMN machine TEXT NOT NULL DEFAULT '';       -- host and kernel
