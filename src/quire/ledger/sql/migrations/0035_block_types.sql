-- Runs about blocks of some types: whole runs, though they are over some blocks only.

ALTER TABLE runs ADD COLUMN block_types TEXT NOT NULL DEFAULT '';  -- with commas between them; '': all
