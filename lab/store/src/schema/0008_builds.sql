-- How the build of a subject ended; NULL if it was not built by us.
ALTER TABLE subject ADD COLUMN build TEXT;  -- JSON: BuildResult
