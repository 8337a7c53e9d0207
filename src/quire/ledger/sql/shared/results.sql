-- name: add_results
-- No notes are sent as empty ones: binding NULL for every row is slow on SQLite.
-- rows: task_id int, version int, attempt_id int, data text, notes text, review_reasons int, review_rank int
INSERT INTO results (task_id, version, attempt_id, gate_version, data, notes, stage_id, review_reasons, review_rank, created_at, origin)
SELECT rows.task_id, rows.version, rows.attempt_id, :gates, rows.data, nullif(rows.notes, ''), :stage, rows.review_reasons, rows.review_rank, :created_at, 'model' FROM rows

-- name: tasks_with_results
SELECT task_id FROM results WHERE task_id IN (:ids...) AND superseded_at IS NULL

-- name: count_incomplete
-- How many current results of some stages are marked as not whole.
SELECT s.name, count(*) FROM stages s JOIN tasks t ON t.stage_id = s.id JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND s.id IN (:stages...) AND t.state = 'done' AND r.notes LIKE :mark GROUP BY s.id, s.name ORDER BY s.id

-- name: export_rows
-- Every block of a run's inputs, or of its sample of them, in order, with its task and current result where there are any.
SELECT d.id, b.block_index, b.block_type, b.locator, CASE WHEN :contents = 1 THEN b.content ELSE '' END, t.id, t.state, t.error, t.tries, res.data, res.review_state, res.version, res.notes, res.reused_from, t.model_no, res.created_at, res.reviewer, res.reviewed_at
FROM run_documents rd
JOIN documents d ON d.id = rd.document_id AND d.workspace_id = :workspace
JOIN blocks b ON b.document_id = d.id AND b.workspace_id = :workspace
LEFT JOIN tasks t ON t.block_id = b.id AND t.stage_id = :stage AND t.workspace_id = :workspace
LEFT JOIN results res ON res.task_id = t.id AND res.superseded_at IS NULL
WHERE rd.run_id = :run
  AND (NOT EXISTS (SELECT 1 FROM run_blocks WHERE run_id = :run)
       OR EXISTS (SELECT 1 FROM run_blocks rb WHERE rb.run_id = :run AND rb.ordinal = rd.ordinal AND rb.block_index = b.block_index))
ORDER BY rd.ordinal, b.block_index

-- name: documents_of_run
SELECT d.id, d.source_uid, d.source_type, d.source_filesize, d.source_total_characters, d.source_locator, d.title, d.uploaded_at, d.conv_uid, d.conv_parsing_tool, d.conv_representation_type, d.conv_total_blocks, d.conv_block_type_freq, d.conv_total_characters
FROM run_documents rd JOIN documents d ON d.id = rd.document_id
WHERE d.workspace_id = :workspace AND rd.run_id = :run AND d.purged_at IS NULL ORDER BY rd.ordinal

-- name: documents_by_id
SELECT id, source_uid, source_type, source_filesize, source_total_characters, source_locator, title, uploaded_at, conv_uid, conv_parsing_tool, conv_representation_type, conv_total_blocks, conv_block_type_freq, conv_total_characters
FROM documents WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: first_locators
SELECT b.locator FROM run_documents rd JOIN blocks b ON b.document_id = rd.document_id AND b.block_index = 0 AND b.workspace_id = :workspace
WHERE rd.run_id = :run
