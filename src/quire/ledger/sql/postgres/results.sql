-- name: export_rows
-- As on SQLite; block by block through the indexes, in order. The plus keeps the stage's index out of it.
SELECT d.id, b.block_index, b.block_type, b.locator, CASE WHEN :contents = 1 THEN b.content ELSE '' END, t.id, t.state, t.error, t.tries, res.data, res.review_state, res.version, res.notes, res.reused_from, t.model_no, res.created_at, res.reviewer, res.reviewed_at
FROM (SELECT ordinal, document_id FROM run_documents WHERE run_id = :run ORDER BY ordinal) AS rd
CROSS JOIN LATERAL (SELECT id FROM documents WHERE id = rd.document_id AND workspace_id = :workspace OFFSET 0) AS d
CROSS JOIN LATERAL (SELECT id, block_index, block_type, locator, content FROM blocks
    WHERE document_id = d.id AND workspace_id = :workspace ORDER BY block_index OFFSET 0) AS b
LEFT JOIN LATERAL (SELECT id, state, error, tries, model_no FROM tasks
    WHERE block_id = b.id AND stage_id + 0 = :stage AND workspace_id = :workspace OFFSET 0) AS t ON true
LEFT JOIN LATERAL (SELECT data, review_state, version, notes, reused_from, created_at, reviewer, reviewed_at FROM results
    WHERE task_id = t.id AND superseded_at IS NULL OFFSET 0) AS res ON true
WHERE NOT EXISTS (SELECT 1 FROM run_blocks WHERE run_id = :run)
   OR EXISTS (SELECT 1 FROM run_blocks rb WHERE rb.run_id = :run AND rb.ordinal = rd.ordinal AND rb.block_index = b.block_index)
ORDER BY rd.ordinal, b.block_index
