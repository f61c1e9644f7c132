-- The side of a comparison that an item belongs to; NULL in a run without sides.
ALTER TABLE item ADD COLUMN side TEXT CHECK (side IN ('a', 'b'));
-- JSON: Facts of the second side's machine, where it is another.
ALTER TABLE session ADD COLUMN facts_b TEXT;
