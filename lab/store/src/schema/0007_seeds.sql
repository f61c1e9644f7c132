-- Seed of the guest's random numbers, in a lens run of a kernel; NULL in other runs, and in runs of older versions.
ALTER TABLE item ADD COLUMN seed INTEGER;
