-- Versions of schemas: a name may have had several bodies, and means the one that was added or gone back to last.

ALTER TABLE schemas RENAME TO schemas_before;

CREATE TABLE schemas (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    ref TEXT NOT NULL,
    version INTEGER NOT NULL,            -- from 1, in the order in which bodies came
    uid TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    recency INTEGER NOT NULL,            -- the bare name means the version with the highest
    UNIQUE (workspace_id, ref, version),
    UNIQUE (workspace_id, uid)           -- a body has one name
) STRICT;

INSERT INTO schemas (workspace_id, ref, version, uid, body, created_at, recency)
SELECT workspace_id, ref, 1, uid, body, created_at, 1 FROM schemas_before ORDER BY id;

DROP TABLE schemas_before;
