-- Indexes on texts, and triggers, in PostgreSQL. The indexes hold hashes, because an entry is
-- limited to 2.7 kB.
CREATE UNIQUE INDEX note_by_key ON note (attempt_id, md5(key));
CREATE UNIQUE INDEX counter_by_name ON counter (attempt_id, md5(name));
CREATE INDEX run_by_label ON run USING hash (label);
CREATE INDEX dataset_by_name ON dataset USING hash (name);
CREATE INDEX change_event_of_repository ON change_event USING hash (repository);

CREATE FUNCTION faultline_drop_conclusion() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    DELETE FROM conclusion WHERE run_id = NEW.run_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER conclusion_before_attempt AFTER INSERT OR UPDATE ON attempt
    FOR EACH ROW EXECUTE FUNCTION faultline_drop_conclusion();
CREATE TRIGGER conclusion_before_change_of_item AFTER UPDATE ON item
    FOR EACH ROW EXECUTE FUNCTION faultline_drop_conclusion();
CREATE TRIGGER conclusion_before_session AFTER INSERT ON session
    FOR EACH ROW EXECUTE FUNCTION faultline_drop_conclusion();
CREATE TRIGGER conclusion_before_explained AFTER INSERT ON explained
    FOR EACH ROW EXECUTE FUNCTION faultline_drop_conclusion();
