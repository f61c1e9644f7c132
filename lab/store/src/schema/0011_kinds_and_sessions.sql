-- What a list of runs shows of a subject, so that it parses no JSON.
ALTER TABLE subject ADD COLUMN kind TEXT NOT NULL DEFAULT 'system';    -- `kind` of `what`
UPDATE subject SET kind = json_extract(what, '$.kind');

-- Which session an attempt belongs to: its times do not tell if the clock was set back. For older attempts they are all there is.
ALTER TABLE attempt ADD COLUMN session INTEGER NOT NULL DEFAULT 0;    -- number of the session in which it began
DROP TRIGGER conclusion_before_change_of_attempt;
UPDATE attempt SET session = coalesce(
    (SELECT max(number) FROM session WHERE session.run_id = attempt.run_id AND session.started_ms <= attempt.started_ms), 0);
CREATE TRIGGER conclusion_before_change_of_attempt AFTER UPDATE ON attempt BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;

-- Sums over the samples of an attempt were saved with it, and nothing reads them.
DROP TRIGGER attempt_closed;
ALTER TABLE attempt DROP COLUMN intervals;
ALTER TABLE attempt DROP COLUMN window_ns;
ALTER TABLE attempt DROP COLUMN window_operations;
CREATE TRIGGER attempt_closed AFTER UPDATE OF outcome ON attempt WHEN NEW.outcome IS NOT NULL BEGIN
    UPDATE attempt SET outcome_kind = json_extract(NEW.outcome, '$.kind') WHERE id = NEW.id;
END;
