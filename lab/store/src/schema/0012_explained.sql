-- What is known of the steps of a finished search besides their values: it was read from the repository and the builds when the search ended.
CREATE TABLE explained (
    run_id INTEGER PRIMARY KEY REFERENCES run (id),
    json   TEXT NOT NULL                 -- JSON: a list of StepExplained
) STRICT;
CREATE TRIGGER conclusion_before_explained AFTER INSERT ON explained BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
END;
