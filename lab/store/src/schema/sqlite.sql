-- Indexes on texts, and triggers, in SQLite.
CREATE UNIQUE INDEX note_by_key ON note (attempt_id, key);
CREATE UNIQUE INDEX counter_by_name ON counter (attempt_id, name);
CREATE INDEX run_by_label ON run (label) WHERE label IS NOT NULL;
CREATE INDEX dataset_by_name ON dataset (name, id);
CREATE INDEX change_event_of_repository ON change_event (repository);

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
CREATE TRIGGER conclusion_before_explained AFTER INSERT ON explained BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;
