-- name: tasks_from_documents
-- Every task about some documents, their blocks or a result that comes from them.
SELECT t.id FROM tasks t WHERE t.workspace_id = :workspace AND t.id IN (
    WITH RECURSIVE down (id) AS (
        SELECT o.id FROM tasks o JOIN blocks b ON b.id = o.block_id AND b.workspace_id = :workspace
        WHERE o.workspace_id = :workspace AND b.document_id IN (:documents...)
        UNION SELECT o.id FROM tasks o WHERE o.workspace_id = :workspace AND o.document_id IN (:documents...)
        UNION SELECT td.task_id FROM task_documents td WHERE td.document_id IN (:documents...)
        UNION SELECT ti.task_id FROM down JOIN task_inputs ti ON ti.input_task_id = down.id)
    SELECT id FROM down)
ORDER BY t.id

-- name: documents_of_tasks
-- Every document that is made of a result of some tasks, whichever result that is.
SELECT d.id FROM documents d WHERE d.workspace_id = :workspace AND d.purged_at IS NULL
  AND d.result_id IN (SELECT r.id FROM results r WHERE r.task_id IN (:tasks...)) ORDER BY d.id

-- name: take_tasks
-- These tasks, taken for this transaction.
SELECT id, state FROM tasks WHERE workspace_id = :workspace AND id IN (:tasks...) ORDER BY id

-- name: take_requests_of_tasks
-- Every request that ever carried one of these tasks, taken for this transaction.
SELECT q.id, q.state FROM requests q
WHERE q.id IN (SELECT rt.request_id FROM request_tasks rt WHERE rt.task_id IN (:tasks...)
    UNION SELECT e.request_id FROM embedding_tasks e WHERE e.task_id IN (:tasks...))
ORDER BY q.id

-- name: purge_responses
UPDATE responses SET raw = NULL, decoded = NULL, reasoning = NULL
WHERE attempt_id IN (SELECT id FROM attempts WHERE request_id IN (:requests...))

-- name: purge_attempt_errors
-- What a provider complained of may quote what was sent.
UPDATE attempts SET error = NULL WHERE request_id IN (:requests...) AND error IS NOT NULL

-- name: purge_batch_lines
-- What nobody could read may be about the document too.
DELETE FROM batch_lines WHERE batch_id IN (SELECT batch_id FROM attempts WHERE request_id IN (:requests...) AND batch_id IS NOT NULL)

-- name: purge_requests
UPDATE requests SET body = NULL, stray_ids = NULL, purged_at = :now WHERE id IN (:requests...)

-- name: purge_reasons
-- Reasons may quote an answer.
UPDATE request_tasks SET reasons = NULL WHERE request_id IN (:requests...)

-- name: purge_results
UPDATE results SET data = NULL, notes = NULL, review_rank = NULL WHERE task_id IN (:tasks...)

-- name: purge_task_subjects
-- What is left of a task: its state and counts. Its own key takes the place of what named the content. A worker that
-- is at compressing its prompt finds that it has it no more.
UPDATE tasks SET compressing = NULL, error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, block_id = NULL, document_id = NULL, part = NULL,
    subject_hash = CAST('purged:' || CAST(id AS TEXT) AS BLOB), question_hash = CAST('purged' AS BLOB)
WHERE workspace_id = :workspace AND id IN (:tasks...)

-- name: purge_task_documents
DELETE FROM task_documents WHERE task_id IN (:tasks...) AND document_id IN (:documents...)

-- name: named_contents
-- Blocks of some documents that were the first to say what they do.
SELECT id, content_hash FROM blocks WHERE workspace_id = :workspace AND document_id IN (:documents...) AND content_id IS NULL

-- name: purge_contents
DELETE FROM contents WHERE number IN (:numbers...) AND block_id IN (:blocks...)

-- name: purge_blocks
DELETE FROM blocks WHERE workspace_id = :workspace AND document_id IN (:documents...)

-- name: purge_sources
-- Paths and titles are words too.
DELETE FROM sources WHERE workspace_id = :workspace AND document_id IN (:documents...)

-- name: purge_documents
UPDATE documents SET purged_at = :now, title = '', source_locator = '', source_uid = '',
    conv_uid = 'purged:' || CAST(id AS TEXT)
WHERE workspace_id = :workspace AND id IN (:documents...)

-- name: has_unsettled_answers
SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
WHERE a.request_id IN (:requests...) AND a.state = 'answered' AND p.decoded IS NOT NULL LIMIT 1
