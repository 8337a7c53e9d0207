-- name: add_access_token
INSERT INTO access_tokens (workspace_id, name, role, digest, tail, created_at, expires_at)
VALUES (:workspace, :name, :role, :digest, :tail, :now, :expires_at) RETURNING id

-- name: access_token_by_digest
-- The token with this digest, of whichever workspace: it says itself which one its owner belongs to.
SELECT id, workspace_id, name, role, digest, tail, created_at, expires_at, revoked_at, last_used_at FROM access_tokens WHERE digest = :digest

-- name: list_access_tokens
SELECT id, workspace_id, name, role, digest, tail, created_at, expires_at, revoked_at, last_used_at FROM access_tokens
WHERE workspace_id = :workspace ORDER BY id

-- name: count_usable_tokens
-- How many tokens let somebody in, in all workspaces.
SELECT count(*) FROM access_tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)

-- name: workspaces_in_use
-- Those that somebody may come to with a token, and those with a running run.
SELECT workspace_id FROM access_tokens WHERE revoked_at IS NULL AND (expires_at IS NULL OR expires_at > :now)
UNION SELECT workspace_id FROM runs WHERE state = 'running'

-- name: revoke_access_token
UPDATE access_tokens SET revoked_at = :now WHERE workspace_id = :workspace AND id = :id AND revoked_at IS NULL

-- name: note_token_use
UPDATE access_tokens SET last_used_at = :now WHERE id = :id

-- name: add_policy_change
INSERT INTO policy_changes (workspace_id, name, value, who, at) VALUES (:workspace, :name, :value, :who, :now)

-- name: policy_changes_before
-- What was decided, the newest first.
SELECT id, name, value, who, at FROM policy_changes WHERE workspace_id = :workspace AND id < :before ORDER BY id DESC LIMIT :limit
