-- name: schema_by_ref
SELECT ref, version, uid, body FROM schemas
WHERE workspace_id = :workspace AND ref = :ref
ORDER BY recency DESC
LIMIT 1

-- name: schema_versions
SELECT ref, version, uid, body FROM schemas
WHERE workspace_id = :workspace AND ref = :ref
ORDER BY recency DESC

-- name: schema_by_uid
SELECT ref, version, uid, body FROM schemas WHERE workspace_id = :workspace AND uid = :uid

-- name: list_schemas
SELECT ref, version, uid, body FROM schemas WHERE workspace_id = :workspace ORDER BY ref, version

-- name: add_schema
INSERT INTO schemas (workspace_id, ref, version, uid, body, created_at, recency)
VALUES (:workspace, :ref, :version, :uid, :body, :now,
    (SELECT COALESCE(MAX(recency), 0) + 1 FROM schemas WHERE workspace_id = :workspace AND ref = :ref))

-- name: go_back_to_schema
UPDATE schemas
SET recency = (SELECT MAX(recency) + 1 FROM schemas WHERE workspace_id = :workspace AND ref = :ref)
WHERE workspace_id = :workspace AND ref = :ref AND version = :version
