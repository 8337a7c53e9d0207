-- name: expand_blocks
-- As on SQLite; each document gives one chunk, in order, so that PostgreSQL does not sort it whole.
INSERT INTO tasks (workspace_id, run_id, stage_id, block_id, subject_hash, question_hash, state)
SELECT :workspace, :run, :stage, b.id, convert_to(lpad(to_hex(b.id), 16, '0'), 'UTF8'), CAST(:question AS BYTEA) || b.content_hash, :state
FROM run_documents rd CROSS JOIN LATERAL (
    SELECT id, block_index, content_hash FROM blocks
    WHERE document_id = rd.document_id AND workspace_id = :workspace
      AND block_index > CASE WHEN rd.ordinal = :ordinal THEN CAST(:index AS INTEGER) ELSE -1 END
    ORDER BY block_index LIMIT :limit) AS b
WHERE rd.run_id = :run AND rd.ordinal >= :ordinal
ORDER BY rd.ordinal, b.block_index LIMIT :limit

-- name: expand_sampled_blocks
-- As on SQLite.
INSERT INTO tasks (workspace_id, run_id, stage_id, block_id, subject_hash, question_hash, state)
SELECT :workspace, :run, :stage, b.id, convert_to(lpad(to_hex(b.id), 16, '0'), 'UTF8'), CAST(:question AS BYTEA) || b.content_hash, :state
FROM run_blocks rb JOIN run_documents rd ON rd.run_id = rb.run_id AND rd.ordinal = rb.ordinal
JOIN blocks b ON b.document_id = rd.document_id AND b.block_index = rb.block_index AND b.workspace_id = :workspace
WHERE rb.run_id = :run AND (rb.ordinal > :ordinal OR (rb.ordinal = :ordinal AND rb.block_index > :index))
ORDER BY rb.ordinal, rb.block_index LIMIT :limit

-- name: ready_tasks
-- As on SQLite, and another worker's tasks are skipped. OFFSET 0 keeps the question apart for each task: as a join,
-- PostgreSQL would read the members of every request there ever was.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, b.json_bytes, b.block_index, b.block_type, b.content, coalesce(b.content_id, b.id)
FROM tasks t CROSS JOIN LATERAL (SELECT id, content_id, json_bytes, block_index, block_type, content FROM blocks
    WHERE id = t.block_id AND workspace_id = :workspace OFFSET 0) AS b
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = 0 AND t.state = 'ready'
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') AND r.late = 0 OFFSET 0)
ORDER BY t.id LIMIT :limit FOR NO KEY UPDATE OF t SKIP LOCKED
