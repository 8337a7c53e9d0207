-- name: dependants_to_release
-- As on SQLite. OFFSET 0 keeps the questions apart for each task: as joins, PostgreSQL would read all tasks.
SELECT w.id, w.stage_id FROM (SELECT DISTINCT ti.task_id FROM task_inputs ti WHERE ti.input_task_id IN (:ids...)) AS d
CROSS JOIN LATERAL (SELECT id, stage_id FROM tasks WHERE id = d.task_id AND workspace_id = :workspace AND state = 'waiting' AND coalesce(follows, 0) = 0 OFFSET 0) AS w
WHERE (SELECT o.ordinal FROM task_inputs o
    CROSS JOIN LATERAL (SELECT state FROM tasks WHERE id = o.input_task_id AND workspace_id = :workspace OFFSET 0) AS i
    WHERE o.task_id = w.id AND i.state <> 'done' ORDER BY o.ordinal DESC LIMIT 1) IS NULL
ORDER BY w.id

-- name: dependants_to_reset
-- The same of tasks that are blocked; in stages that leave out what is missing, one that is there is enough.
SELECT w.id, w.stage_id FROM (SELECT DISTINCT ti.task_id FROM task_inputs ti WHERE ti.input_task_id IN (:ids...)) AS d
CROSS JOIN LATERAL (SELECT id, stage_id FROM tasks WHERE id = d.task_id AND workspace_id = :workspace AND state = 'blocked' OFFSET 0) AS w
WHERE w.stage_id IN (:lenient...) OR (SELECT o.ordinal FROM task_inputs o
    CROSS JOIN LATERAL (SELECT state FROM tasks WHERE id = o.input_task_id AND workspace_id = :workspace OFFSET 0) AS i
    WHERE o.task_id = w.id AND i.state IN ('failed', 'blocked', 'cancelled') ORDER BY o.ordinal DESC LIMIT 1) IS NULL
ORDER BY w.id
