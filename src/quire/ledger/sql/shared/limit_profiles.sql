-- name: add_limit_profile
INSERT INTO limit_profiles (workspace_id, profile, model, version, requests, input, output, total, enqueued, jobs, set_at)
VALUES (:workspace, :profile, :model, :version, :requests, :input, :output, :total, :enqueued, :jobs, :at)

-- name: newest_limit_profiles
SELECT profile, model, version, requests, input, output, total, enqueued, jobs, set_at FROM limit_profiles p
WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM limit_profiles n WHERE n.workspace_id = p.workspace_id AND n.profile = p.profile AND n.model = p.model
      AND n.version > p.version)
ORDER BY profile, model

-- name: list_limit_profiles
SELECT profile, model, version, requests, input, output, total, enqueued, jobs, set_at FROM limit_profiles
WHERE workspace_id = :workspace ORDER BY profile, model, version

-- name: add_run_limits
INSERT INTO run_limits (run_id, model, profile, version) VALUES (:run, :model, :profile, :version)

-- name: list_run_limits
SELECT l.profile, l.model, l.version, l.run_id FROM run_limits l JOIN runs r ON r.id = l.run_id
WHERE r.workspace_id = :workspace ORDER BY l.run_id
