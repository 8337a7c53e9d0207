-- name: purge_task_subjects
-- As on SQLite; PostgreSQL turns text into bytes with convert_to.
UPDATE tasks SET error = NULL, block_id = NULL,
    subject_hash = convert_to('purged:' || CAST(id AS TEXT), 'UTF8'), question_hash = convert_to('purged', 'UTF8')
WHERE workspace_id = :workspace AND block_id IN (
    SELECT id FROM blocks WHERE workspace_id = :workspace AND document_id = :document)
