-- name: embedding_lane
-- The queue of a stage's calls to a model of embeddings.
SELECT id, CASE WHEN given_up_at IS NULL THEN 0 ELSE 1 END FROM lanes
WHERE workspace_id = :workspace AND run_id = :run AND stage_id = :stage AND model = :model

-- name: give_up_lane
UPDATE lanes SET given_up_at = :now WHERE workspace_id = :workspace AND id = :lane AND given_up_at IS NULL

-- name: queued_embeddings
SELECT id FROM requests WHERE lane_id = :lane AND state = 'queued' ORDER BY id

-- name: known_embeddings
-- How the embedding of some passages stands: the call that was to make it, and whether its vectors are there.
SELECT e.passages, e.request_id, e.first, q.lane_id,
    CASE WHEN q.purged_at IS NOT NULL THEN 'wanted'
        WHEN EXISTS (SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
            WHERE a.request_id = q.id AND a.state = 'settled' AND p.stop = 'end' AND p.raw IS NOT NULL) THEN 'there'
        WHEN q.state IN ('queued', 'out') THEN 'underway'
        WHEN q.state = 'dropped' THEN 'wanted'
        ELSE 'failed' END
FROM embeddings e JOIN requests q ON q.id = e.request_id
WHERE e.workspace_id = :workspace AND e.passages IN (:keys...)

-- name: embedded_responses
-- What came back for some calls for embeddings: as it came, the last that can be used.
SELECT a.request_id, p.raw, p.codec FROM attempts a JOIN responses p ON p.attempt_id = a.id
WHERE a.request_id IN (:requests...) AND a.state = 'settled' AND p.stop = 'end' AND p.raw IS NOT NULL ORDER BY a.id

-- name: add_embedding
-- What was asked for in vain, or is gone, is asked for once more.
INSERT INTO embeddings (workspace_id, passages, request_id, first) VALUES (:workspace, :passages, :request, :first)
ON CONFLICT (workspace_id, passages) DO UPDATE SET request_id = excluded.request_id, first = excluded.first

-- name: add_embedding_task
-- This task's prompt waits for that call.
INSERT INTO embedding_tasks (request_id, task_id) VALUES (:request, :task) ON CONFLICT DO NOTHING

-- name: await_embeddings
-- The worker leaves them until the calls they wait for are over.
UPDATE tasks SET compressing = -1 WHERE workspace_id = :workspace AND id IN (:tasks...) AND compressing = :worker RETURNING id

-- name: end_embedding_waits
-- Tasks all of whose calls for embeddings are over, whatever came of them, are there for whoever compresses.
UPDATE tasks SET compressing = 0 WHERE workspace_id = :workspace AND compressing = -1
  AND NOT EXISTS (SELECT 1 FROM embedding_tasks e JOIN requests q ON q.id = e.request_id
                  WHERE e.task_id = tasks.id AND q.state IN ('queued', 'out'))

-- name: awaited_embeddings
-- Which of these calls somebody still waits for.
SELECT DISTINCT e.request_id FROM embedding_tasks e JOIN tasks t ON t.id = e.task_id AND t.workspace_id = :workspace
WHERE e.request_id IN (:ids...) AND t.compressing = -1 AND t.state = 'ready'

-- name: purge_embeddings
DELETE FROM embeddings WHERE workspace_id = :workspace AND request_id IN (:requests...)

-- name: tasks_of_embedding
SELECT e.task_id FROM embedding_tasks e JOIN tasks t ON t.id = e.task_id AND t.workspace_id = :workspace
WHERE e.request_id = :request ORDER BY e.task_id
