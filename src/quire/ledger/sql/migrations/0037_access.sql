-- Access: tokens that people and programs sign in with, only their digests; what a workspace decides about its runs, a row
-- a decision, never changed; and what pages of lists are read by.

CREATE TABLE access_tokens (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role = 'viewer' OR role = 'reviewer' OR role = 'operator' OR role = 'admin'),
    digest BLOB NOT NULL UNIQUE,
    tail TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE policy_changes (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT,              -- JSON; NULL: it is left to what comes after the workspace
    who TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX policy_changes_workspace ON policy_changes (workspace_id, id);
CREATE INDEX documents_workspace ON documents (workspace_id, id);
CREATE INDEX wallet_entries_wallet ON wallet_entries (wallet_id, id);
CREATE INDEX documents_purged ON documents (workspace_id, purged_at) WHERE purged_at IS NOT NULL;
