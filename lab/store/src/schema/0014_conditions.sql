-- What is said of changes belongs to results that were measured in one way: a digest of recipe, command, measure and machine. Empty in lines of older versions,
-- which are placed by their times.
ALTER TABLE change_event ADD COLUMN conditions TEXT NOT NULL DEFAULT '';
