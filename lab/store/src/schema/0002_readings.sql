-- What the lens counted in an attempt, with names; one at most.
CREATE TABLE reading (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempt (id),
    format     TEXT NOT NULL,              -- name and version of what `json` holds
    json       TEXT NOT NULL               -- JSON: Reading
) STRICT;
