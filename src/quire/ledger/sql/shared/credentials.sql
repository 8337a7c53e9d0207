-- name: list_credentials
-- Every credential that was not removed, the oldest first.
SELECT id, provider, name, source, tail, digest, sealed, state, reason, marked_at, created_at, accepted_at, person
FROM credentials WHERE workspace_id = :workspace AND removed_at IS NULL ORDER BY id

-- name: credentials_of_provider
-- Those of one provider, the oldest first.
SELECT id, provider, name, source, tail, digest, sealed, state, reason, marked_at, created_at, accepted_at, person
FROM credentials WHERE workspace_id = :workspace AND provider = :provider AND removed_at IS NULL ORDER BY id

-- name: get_credential
-- One of them, removed or not.
SELECT id, provider, name, source, tail, digest, sealed, state, reason, marked_at, created_at, accepted_at, person
FROM credentials WHERE workspace_id = :workspace AND id = :id

-- name: add_credential
-- A key as it is first seen; a stored one that was removed comes back under its old number. No row: it was here already.
INSERT INTO credentials (workspace_id, provider, name, source, tail, digest, sealed, state, created_at, person)
VALUES (:workspace, :provider, :name, :source, :tail, :digest, :sealed, :state, :now, :person)
ON CONFLICT (workspace_id, provider, source, name, digest) DO UPDATE SET sealed = excluded.sealed, removed_at = NULL, person = excluded.person
WHERE credentials.workspace_id = :workspace AND credentials.removed_at IS NOT NULL
RETURNING id

-- name: remove_credential
UPDATE credentials SET sealed = NULL, removed_at = :now
WHERE workspace_id = :workspace AND id = :id AND source = 'stored' AND removed_at IS NULL

-- name: accept_credential
UPDATE credentials SET accepted_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: has_answers
SELECT 1 FROM attempts WHERE credential_id = :id AND state IN ('answered', 'settled') LIMIT 1

-- name: move_credentials
-- The one way a credential changes state.
UPDATE credentials SET state = :target, reason = :reason, marked_at = :marked_at
WHERE workspace_id = :workspace AND id IN (:ids...) AND state = :source RETURNING id
