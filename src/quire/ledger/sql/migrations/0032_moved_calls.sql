-- Moved calls: a request that goes another way than it was packed for is reserved for anew, at the prices of that way.

ALTER TABLE requests ADD COLUMN most_input INTEGER NOT NULL DEFAULT 0;  -- tokens that it may have at most; 0: its reserve stands, whichever way it goes
