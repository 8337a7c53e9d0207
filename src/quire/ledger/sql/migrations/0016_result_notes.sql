-- What was read in another form than the model wrote it in, kept with the result that it became.

ALTER TABLE results ADD COLUMN notes TEXT;  -- JSON: a list of kind, path, written and read; NULL: none
