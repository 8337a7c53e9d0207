-- Documents that were taken in on the way to a run that named them: no other run is about them unless it says so.

ALTER TABLE documents ADD COLUMN aside INTEGER NOT NULL DEFAULT 0;

UPDATE documents SET aside = 1 WHERE conv_parsing_tool LIKE 'quire-evidence/%';
