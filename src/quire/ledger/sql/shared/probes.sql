-- name: add_probe
INSERT INTO probes (workspace_id, schema_uid, model, params, size, report, made_at)
VALUES (:workspace, :schema_uid, :model, :params, :size, :report, :now)

-- name: newest_probe
-- What was last shown about packing this schema's questions to this model.
SELECT size, report FROM probes
WHERE workspace_id = :workspace AND schema_uid = :schema_uid AND model = :model AND params = :params
ORDER BY id DESC LIMIT 1
