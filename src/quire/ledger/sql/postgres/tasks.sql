-- name: ready_tasks
-- As on SQLite, and another worker's tasks are skipped. OFFSET 0 keeps the question apart for each task: as a join,
-- PostgreSQL would read the members of every request there ever was.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, b.json_bytes, b.block_index, b.block_type, b.content
FROM tasks t CROSS JOIN LATERAL (SELECT json_bytes, block_index, block_type, content FROM blocks
    WHERE id = t.block_id AND workspace_id = :workspace OFFSET 0) AS b
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'ready'
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') AND r.late = 0 OFFSET 0)
ORDER BY t.id LIMIT :limit FOR NO KEY UPDATE OF t SKIP LOCKED
