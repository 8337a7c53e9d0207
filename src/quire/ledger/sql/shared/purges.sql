-- name: purge_tasks_open
-- Tasks of a document that are still owed.
SELECT t.id, t.state FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND b.document_id = :document AND t.state IN ('waiting', 'ready', 'packed', 'proposed', 'blocked')
ORDER BY t.id

-- name: tasks_touching
-- Every task about a document, taken for this transaction.
SELECT t.id FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND b.document_id = :document ORDER BY t.id

-- name: requests_touching
-- Every request that ever carried a block of a document, taken for this transaction.
SELECT q.id, q.state FROM requests q
WHERE q.id IN (
    SELECT rt.request_id FROM blocks b JOIN tasks t ON t.block_id = b.id AND t.workspace_id = :workspace
    JOIN request_tasks rt ON rt.task_id = t.id
    WHERE b.workspace_id = :workspace AND b.document_id = :document)
ORDER BY q.id

-- name: purge_responses
UPDATE responses SET raw = NULL, decoded = NULL, reasoning = NULL
WHERE attempt_id IN (SELECT id FROM attempts WHERE request_id IN (:requests...))

-- name: purge_requests
UPDATE requests SET body = NULL, purged_at = :now WHERE id IN (:requests...)

-- name: purge_reasons
-- Reasons may quote an answer.
UPDATE request_tasks SET reasons = NULL WHERE request_id IN (:requests...)

-- name: purge_results
UPDATE results SET data = NULL WHERE task_id IN (
    SELECT t.id FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
    WHERE t.workspace_id = :workspace AND b.document_id = :document)

-- name: purge_task_subjects
-- What is left of a task: its state and counts. Its own key takes the place of what named the content.
UPDATE tasks SET error = NULL, block_id = NULL,
    subject_hash = CAST('purged:' || CAST(id AS TEXT) AS BLOB), question_hash = CAST('purged' AS BLOB)
WHERE workspace_id = :workspace AND block_id IN (
    SELECT id FROM blocks WHERE workspace_id = :workspace AND document_id = :document)

-- name: purge_blocks
DELETE FROM blocks WHERE workspace_id = :workspace AND document_id = :document

-- name: purge_document
UPDATE documents SET purged_at = :now, title = '', source_locator = '', source_uid = '',
    conv_uid = 'purged:' || CAST(id AS TEXT)
WHERE workspace_id = :workspace AND id = :id

-- name: unsettled_answers
SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
WHERE a.request_id IN (:requests...) AND a.state = 'answered' AND p.decoded IS NOT NULL LIMIT 1
