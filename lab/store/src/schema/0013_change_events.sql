-- What people said of changes of histories, and of which changes somebody was notified: a log to which only lines are added. A line belongs to no run, and
-- stays when runs are deleted.
CREATE TABLE change_event (
    id         INTEGER PRIMARY KEY,
    subject    TEXT NOT NULL,
    repository TEXT NOT NULL,
    tasks      INTEGER NOT NULL,
    measure    TEXT NOT NULL,            -- time, instructions, transfers
    kind       TEXT NOT NULL,            -- said, notified
    json       TEXT NOT NULL             -- JSON: PlacedEvent, or ChangePlace
) STRICT;
CREATE INDEX change_event_of_series ON change_event (subject, repository);
