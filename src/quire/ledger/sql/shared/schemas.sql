-- name: schema_by_ref
SELECT ref, uid, body FROM schemas WHERE workspace_id = :workspace AND ref = :ref

-- name: schema_by_uid
SELECT ref, uid, body FROM schemas WHERE workspace_id = :workspace AND uid = :uid

-- name: list_schemas
SELECT ref, uid, body FROM schemas WHERE workspace_id = :workspace ORDER BY ref

-- name: add_schema
INSERT INTO schemas (workspace_id, ref, uid, body, created_at) VALUES (:workspace, :ref, :uid, :body, :now)
