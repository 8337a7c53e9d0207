-- name: list_fallbacks
SELECT model, address, part, way, problem, since FROM fallbacks WHERE workspace_id = :workspace ORDER BY model, address, part

-- name: fallbacks_of_model
SELECT model, address, part, way, problem, since FROM fallbacks
WHERE workspace_id = :workspace AND model = :model ORDER BY address, part

-- name: set_fallback
INSERT INTO fallbacks (workspace_id, model, address, part, way, problem, since)
VALUES (:workspace, :model, :address, :part, :way, :problem, :now)
ON CONFLICT (workspace_id, model, address, part) DO UPDATE SET way = excluded.way, problem = excluded.problem, since = excluded.since

-- name: forget_fallbacks
DELETE FROM fallbacks WHERE workspace_id = :workspace AND model = :model
