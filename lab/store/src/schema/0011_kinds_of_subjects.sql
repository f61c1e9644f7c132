-- What a list of runs shows of a subject, so that it parses no JSON.
ALTER TABLE subject ADD COLUMN kind TEXT NOT NULL DEFAULT 'system';    -- `kind` of `what`
UPDATE subject SET kind = json_extract(what, '$.kind');

-- Sums over the samples of an attempt were saved with it, and nothing reads them.
DROP TRIGGER attempt_closed;
ALTER TABLE attempt DROP COLUMN intervals;
ALTER TABLE attempt DROP COLUMN window_ns;
ALTER TABLE attempt DROP COLUMN window_operations;
CREATE TRIGGER attempt_closed AFTER UPDATE OF outcome ON attempt WHEN NEW.outcome IS NOT NULL BEGIN
    UPDATE attempt SET outcome_kind = json_extract(NEW.outcome, '$.kind') WHERE id = NEW.id;
END;
