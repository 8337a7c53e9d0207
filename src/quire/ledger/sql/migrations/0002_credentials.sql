-- Credentials: the keys that calls go out with. A stored key is here encrypted; of any other only where it was found.
-- A row is never deleted: attempts remember the credential that they went out with.

CREATE TABLE credentials (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    name TEXT NOT NULL,                  -- what its owner calls it; else the variable or the file that holds it
    source TEXT NOT NULL CHECK (source IN ('stored', 'file', 'environment')),
    tail TEXT NOT NULL,                  -- the last four characters; of a short key none
    digest BLOB NOT NULL,                -- of the key: a changed one is another credential
    sealed BLOB,                         -- the key, encrypted; its own key is never in this database
    state TEXT NOT NULL CHECK (state IN ('valid', 'invalid', 'spent')),
    reason TEXT,
    marked_at INTEGER,
    created_at INTEGER NOT NULL,
    removed_at INTEGER,                  -- a stored key that was erased
    UNIQUE (workspace_id, provider, source, name, digest),
    CHECK ((sealed IS NOT NULL) = (source = 'stored' AND removed_at IS NULL)),
    CHECK ((state = 'valid') = (reason IS NULL)),
    CHECK ((state = 'valid') = (marked_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX credentials_kept ON credentials (workspace_id, provider, name)
    WHERE source = 'stored' AND removed_at IS NULL;  -- a name means one stored key

ALTER TABLE attempts ADD COLUMN credential_id INTEGER REFERENCES credentials (id);  -- NULL: no key was needed
