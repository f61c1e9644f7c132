-- The items of a run that were left out are found without reading the others.
CREATE INDEX item_skipped ON item (run_id, ordinal) WHERE skipped = 1;
