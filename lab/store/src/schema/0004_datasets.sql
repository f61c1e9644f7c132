-- Figures of other tools. Of several with one name the newest is meant; older ones stay.
CREATE TABLE dataset (
    id          INTEGER PRIMARY KEY,
    name        TEXT NOT NULL,
    source      TEXT NOT NULL,             -- name of the format it was read from
    imported_ms INTEGER NOT NULL,          -- milliseconds since 1970
    json        TEXT NOT NULL              -- JSON: Dataset
) STRICT;
CREATE INDEX dataset_by_name ON dataset (name, id);
