-- name: results_with_origins
-- Some results, each with its task, what that is about, and the input results that its call showed.
SELECT r.id, r.task_id, s.run_id, s.name, t.model_no, t.sample, r.version, r.origin, r.reused_from,
    CASE WHEN r.superseded_at IS NULL THEN 1 ELSE 0 END, CASE WHEN t.stale_since IS NULL THEN 0 ELSE 1 END, CASE WHEN r.data IS NULL THEN 1 ELSE 0 END,
    t.judged_result_id, coalesce(t.document_id, b.document_id), b.block_index, rt.used, t.origin_id
FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace JOIN stages s ON s.id = t.stage_id
LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN attempts a ON a.id = r.attempt_id LEFT JOIN request_tasks rt ON rt.request_id = a.request_id AND rt.task_id = r.task_id
WHERE r.id IN (:ids...)

-- name: results_used_by_tasks
-- What the current results of some tasks were made from, in order. Once anything was noted, what was not was left out,
-- as what a critic objected to is; where nothing was, it is what could be read now.
SELECT ti.task_id, coalesce(ti.used_result_id, r.id) FROM task_inputs ti
JOIN (SELECT task_id, max(used_result_id) AS used FROM task_inputs WHERE task_id IN (:ids...) GROUP BY task_id) AS noted ON noted.task_id = ti.task_id
LEFT JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace AND i.state IN ('done', 'proposed') AND noted.used IS NULL
LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL
WHERE ti.task_id IN (:ids...) ORDER BY ti.task_id, ti.ordinal

-- name: documents_with_results
-- Some documents, each with the result that it is made of.
SELECT id, title, source_locator, result_id, CASE WHEN purged_at IS NULL THEN 0 ELSE 1 END
FROM documents WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: current_result_of_task
SELECT r.id FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace
WHERE r.task_id = :task AND r.superseded_at IS NULL
