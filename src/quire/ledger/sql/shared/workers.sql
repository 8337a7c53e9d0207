-- name: add_worker
INSERT INTO workers (workspace_id, host, pid, version, run_id, started_at, seen_at)
VALUES (:workspace, :host, :pid, :version, :run_id, :now, :now) RETURNING id

-- name: beat_worker
UPDATE workers SET seen_at = :now WHERE id = :id AND ended_at IS NULL

-- name: is_worker_alive
SELECT 1 FROM workers WHERE id = :id AND ended_at IS NULL

-- name: end_workers
-- Returns which were not ended yet, each with the run that it served, if it served one only, and whether it has slices.
UPDATE workers SET ended_at = :now WHERE id IN (:ids...) AND ended_at IS NULL
RETURNING id, run_id, EXISTS (SELECT 1 FROM slices s WHERE s.worker_id = workers.id AND s.ended = 0)

-- name: silent_workers
-- Workers whose lease ran out, and ended ones that claimed at that very moment: nobody else answers for their calls.
SELECT id FROM workers WHERE ended_at IS NULL AND seen_at < :before
UNION ALL SELECT DISTINCT w.id FROM attempts a JOIN workers w ON w.id = a.worker_id WHERE a.state = 'open' AND w.ended_at IS NOT NULL

-- name: workers_on_host
-- Workers said to be alive on one host.
SELECT id, pid FROM workers WHERE ended_at IS NULL AND host = :host ORDER BY id

-- name: live_workers
-- Each with the run that it serves, if it serves one only. Of whom nobody wrote down the workspace, an older version
-- began: it may be anybody's until it ends.
SELECT id, run_id FROM workers
WHERE ended_at IS NULL AND seen_at >= :since AND coalesce(workspace_id, :workspace) = :workspace
