-- name: tasks_touching
-- Every task about a document, its blocks or a result that comes from it, and nobody packs them meanwhile.
SELECT t.id, t.state FROM tasks t WHERE t.workspace_id = :workspace AND t.id IN (
    WITH RECURSIVE down (id) AS (
        SELECT o.id FROM tasks o JOIN blocks b ON b.id = o.block_id AND b.workspace_id = :workspace
        WHERE o.workspace_id = :workspace AND b.document_id = :document
        UNION SELECT o.id FROM tasks o WHERE o.workspace_id = :workspace AND o.document_id = :document
        UNION SELECT td.task_id FROM task_documents td WHERE td.document_id = :document
        UNION SELECT ti.task_id FROM down JOIN task_inputs ti ON ti.input_task_id = down.id)
    SELECT id FROM down)
ORDER BY t.id FOR UPDATE OF t

-- name: requests_touching
-- As on SQLite, and nobody claims them meanwhile.
SELECT q.id, q.state FROM requests q
WHERE q.id IN (SELECT rt.request_id FROM request_tasks rt WHERE rt.task_id IN (:tasks...))
ORDER BY q.id FOR UPDATE OF q

-- name: purge_task_subjects
-- As on SQLite; PostgreSQL turns text into bytes with convert_to.
UPDATE tasks SET error = NULL, block_id = NULL, document_id = NULL, part = NULL,
    subject_hash = convert_to('purged:' || CAST(id AS TEXT), 'UTF8'), question_hash = convert_to('purged', 'UTF8')
WHERE workspace_id = :workspace AND id IN (:tasks...)
