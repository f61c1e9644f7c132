-- What an attempt came to, so that queries over runs read no sample and parse no outcome. All four are NULL until the attempt is closed.
ALTER TABLE attempt ADD COLUMN outcome_kind TEXT;            -- `kind` of the outcome
ALTER TABLE attempt ADD COLUMN intervals INTEGER;            -- number of intervals in the window
ALTER TABLE attempt ADD COLUMN window_ns INTEGER;            -- their length; NULL where 64 bits do not hold it
ALTER TABLE attempt ADD COLUMN window_operations INTEGER;    -- of all tasks in them; NULL where 64 bits do not hold them

-- `sum` fails on an overflow, `total` counts in floating point and does not: a workload may print any counts.
CREATE TRIGGER attempt_closed AFTER UPDATE OF outcome ON attempt WHEN NEW.outcome IS NOT NULL BEGIN
    UPDATE attempt SET
        outcome_kind = json_extract(NEW.outcome, '$.kind'),
        intervals = (SELECT count(*) FROM sample WHERE attempt_id = NEW.id AND phase = 'window'),
        window_ns = CASE
            WHEN (SELECT total(to_ns - from_ns) FROM sample WHERE attempt_id = NEW.id AND phase = 'window') < 9.2e18
            THEN (SELECT coalesce(sum(to_ns - from_ns), 0) FROM sample WHERE attempt_id = NEW.id AND phase = 'window')
        END,
        window_operations = CASE
            WHEN (SELECT total(task.value) FROM sample, json_each(sample.operations) AS task
                  WHERE sample.attempt_id = NEW.id AND sample.phase = 'window') < 9.2e18
            THEN (SELECT coalesce(sum(task.value), 0) FROM sample, json_each(sample.operations) AS task
                  WHERE sample.attempt_id = NEW.id AND sample.phase = 'window')
        END
    WHERE id = NEW.id;
END;
UPDATE attempt SET outcome = outcome WHERE outcome IS NOT NULL;

-- What was concluded of a finished run, for as long as the record stays as it is and the method is the same.
CREATE TABLE conclusion (
    run_id INTEGER NOT NULL REFERENCES run (id),
    kind   TEXT NOT NULL,                -- figures, comparison
    method INTEGER NOT NULL,             -- version of the method that made it
    json   TEXT NOT NULL,                -- JSON: RunSummary, Comparison
    PRIMARY KEY (run_id, kind)
) STRICT;
CREATE TRIGGER conclusion_before_attempt AFTER INSERT ON attempt BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER conclusion_before_change_of_attempt AFTER UPDATE ON attempt BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER conclusion_before_change_of_item AFTER UPDATE ON item BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER conclusion_before_session AFTER INSERT ON session BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;

-- Runs are found by their label, and by the time when they began.
CREATE INDEX run_by_label ON run (label) WHERE label IS NOT NULL;
CREATE INDEX session_by_begin_of_run ON session (started_ms) WHERE number = 0;

-- What a list of imports shows, so that it parses no figures.
ALTER TABLE dataset ADD COLUMN series INTEGER NOT NULL DEFAULT 0;    -- benchmarks
ALTER TABLE dataset ADD COLUMN points INTEGER NOT NULL DEFAULT 0;    -- runs of all benchmarks
UPDATE dataset SET
    series = coalesce(json_array_length(json, '$.series'), 0),
    points = (SELECT coalesce(sum(json_array_length(one.value, '$.points')), 0) FROM json_each(dataset.json, '$.series') AS one);
