-- name: ready_parts
-- As on SQLite, and another worker's tasks are skipped.
SELECT t.id FROM tasks t
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = :model AND t.state = 'ready'
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') AND r.late = 0 OFFSET 0)
ORDER BY t.id LIMIT :limit FOR NO KEY UPDATE OF t SKIP LOCKED
