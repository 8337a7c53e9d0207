-- name: documents_before
-- The next page of documents, the newest first.
SELECT id, source_uid, source_type, source_filesize, source_total_characters, source_locator, title, uploaded_at, conv_uid, conv_parsing_tool, conv_representation_type, conv_total_blocks, conv_block_type_freq, conv_total_characters
FROM documents WHERE workspace_id = :workspace AND purged_at IS NULL AND id < :before ORDER BY id DESC LIMIT :limit

-- name: newest_titles
-- What the newest documents are called.
SELECT id, title FROM documents WHERE workspace_id = :workspace AND purged_at IS NULL ORDER BY id DESC LIMIT :most

-- name: count_usual
-- How many documents a run is about that does not say, and their blocks; so many of them are looked at, and no more.
SELECT count(*), coalesce(CAST(sum(u.blocks) AS INTEGER), 0) FROM (
    SELECT d.conv_total_blocks AS blocks FROM documents d WHERE d.workspace_id = :workspace AND d.purged_at IS NULL AND d.aside = 0
      AND EXISTS (SELECT 1 FROM sources s WHERE s.workspace_id = :workspace AND s.document_id = d.id AND s.retired_at IS NULL)
    ORDER BY d.id DESC LIMIT :most) AS u

-- name: documents_put_aside
-- Which of some documents are for the runs that name them.
SELECT id FROM documents WHERE workspace_id = :workspace AND id IN (:ids...) AND aside = 1

-- name: blocks_after
-- The next blocks of a document.
SELECT block_index, block_type, content, locator, headings FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND block_index > :after ORDER BY block_index LIMIT :limit

-- name: runs_before
-- The next page of runs, the newest first; of one state, or of all.
SELECT id, recipe, model, policy, state, task_limit, cancel_asked_at, early_judged_at, created_at, ended_at,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = runs.id), started_by
FROM runs WHERE workspace_id = :workspace AND id < :before AND (:state = '' OR state = :state)
    AND (:drafts = 1 OR NOT EXISTS (SELECT 1 FROM run_documents rd JOIN documents d ON d.id = rd.document_id
    WHERE rd.run_id = runs.id AND rd.ordinal = 0 AND d.source_type = 'draft' AND d.aside = 1))
ORDER BY id DESC LIMIT :limit

-- name: entries_before
-- The next page of a wallet's entries, the newest first.
SELECT id, key, kind, amount, run_id, at, note FROM wallet_entries WHERE wallet_id = :wallet AND id < :before ORDER BY id DESC LIMIT :limit

-- name: run_of_command
-- The run that a command was about, if it was carried out.
SELECT run_id FROM commands WHERE workspace_id = :workspace AND id = :id

-- name: last_purge
-- When a document of the workspace was last erased; 0: never.
SELECT coalesce(max(purged_at), 0) FROM documents WHERE workspace_id = :workspace AND purged_at IS NOT NULL

-- name: runs_about_document
-- The newest runs about a document.
SELECT r.id FROM run_documents d JOIN runs r ON r.id = d.run_id
WHERE d.document_id = :document AND r.workspace_id = :workspace ORDER BY r.id DESC LIMIT :limit

-- name: results_beside_blocks
-- What became of some blocks of a document in a run, each stage for itself.
SELECT b.block_index, t.id, s.name, t.state, t.error, r.data, r.review_state
FROM blocks b JOIN tasks t ON t.block_id = b.id AND t.run_id = :run JOIN stages s ON s.id = t.stage_id
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE b.workspace_id = :workspace AND b.document_id = :document AND b.block_index >= :first AND b.block_index <= :last
ORDER BY b.block_index, t.id

-- name: results_about_document
-- What became of a document as a whole in a run.
SELECT -1, t.id, s.name, t.state, t.error, r.data, r.review_state
FROM tasks t JOIN stages s ON s.id = t.stage_id LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.document_id = :document AND t.run_id = :run AND t.block_id IS NULL ORDER BY t.id LIMIT :limit
