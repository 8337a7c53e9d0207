-- name: take_tasks
-- As on SQLite, and nobody packs them meanwhile.
SELECT id, state FROM tasks WHERE workspace_id = :workspace AND id IN (:tasks...) ORDER BY id FOR UPDATE

-- name: take_requests_of_tasks
-- As on SQLite, and nobody claims them meanwhile.
SELECT q.id, q.state FROM requests q
WHERE q.id IN (SELECT rt.request_id FROM request_tasks rt WHERE rt.task_id IN (:tasks...)
    UNION SELECT e.request_id FROM embedding_tasks e WHERE e.task_id IN (:tasks...))
ORDER BY q.id FOR UPDATE OF q

-- name: purge_task_subjects
-- As on SQLite; PostgreSQL turns text into bytes with convert_to.
UPDATE tasks SET compressing = NULL, error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, block_id = NULL, document_id = NULL, part = NULL,
    subject_hash = convert_to('purged:' || CAST(id AS TEXT), 'UTF8'), question_hash = convert_to('purged', 'UTF8')
WHERE workspace_id = :workspace AND id IN (:tasks...)
