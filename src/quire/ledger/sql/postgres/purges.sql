-- name: tasks_touching
-- As on SQLite, and nobody packs them meanwhile.
SELECT t.id FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND b.document_id = :document ORDER BY t.id FOR UPDATE OF t

-- name: requests_touching
-- As on SQLite, and nobody claims them meanwhile.
SELECT q.id, q.state FROM requests q
WHERE q.id IN (
    SELECT rt.request_id FROM blocks b JOIN tasks t ON t.block_id = b.id AND t.workspace_id = :workspace
    JOIN request_tasks rt ON rt.task_id = t.id
    WHERE b.workspace_id = :workspace AND b.document_id = :document)
ORDER BY q.id FOR UPDATE OF q

-- name: purge_task_subjects
-- As on SQLite; PostgreSQL turns text into bytes with convert_to.
UPDATE tasks SET error = NULL, block_id = NULL,
    subject_hash = convert_to('purged:' || CAST(id AS TEXT), 'UTF8'), question_hash = convert_to('purged', 'UTF8')
WHERE workspace_id = :workspace AND block_id IN (
    SELECT id FROM blocks WHERE workspace_id = :workspace AND document_id = :document)
