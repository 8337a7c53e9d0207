-- Persons: a key may belong to one person of the workspace, and a run to whoever started it; empty: to the workspace.

ALTER TABLE credentials ADD COLUMN person TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN started_by TEXT NOT NULL DEFAULT '';

DROP INDEX IF EXISTS credentials_kept;
CREATE UNIQUE INDEX credentials_kept ON credentials (workspace_id, provider, person, name)
    WHERE source = 'stored' AND removed_at IS NULL;  -- a name means one stored key of a person, or of the workspace
