-- Sources: every path that was read has its row; files of the same content share a document, and none of them vanishes.

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    place TEXT NOT NULL,                 -- where it really is: one for each file, whatever it was called
    path TEXT NOT NULL,                  -- what it was called
    title TEXT NOT NULL,
    options TEXT NOT NULL,               -- JSON: how it was read
    stamp TEXT NOT NULL,                 -- size and moment of the file, and whose reader; '': it is always read again
    read_at INTEGER NOT NULL,            -- the last time
    retired_at INTEGER                   -- another document has taken its place
) STRICT;
CREATE UNIQUE INDEX sources_place ON sources (workspace_id, place, document_id);
CREATE INDEX sources_document ON sources (document_id);

INSERT INTO sources (workspace_id, document_id, place, path, title, options, stamp, read_at)
SELECT workspace_id, id, source_locator, source_locator, title, '{}', '', uploaded_at FROM documents
WHERE purged_at IS NULL ORDER BY id;
