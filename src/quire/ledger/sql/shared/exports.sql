-- name: outcomes_after
-- The next tasks of a stage in subject order, each with what it is about and its current result; what critics said of answers that made way is left out.
SELECT t.id, t.subject_hash, t.state, t.error, t.version, t.stale_since, t.model_no, t.sample, t.part,
    d.title, d.conv_uid, b.block_index, r.data, r.review_state, r.notes, r.id, r.reused_from,
    d.id, d.source_locator, b.locator, b.block_type, b.content, r.created_at, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.subject_hash > :after
  AND coalesce((SELECT j.superseded_at FROM results j WHERE j.id = t.judged_result_id), 0) = 0
ORDER BY t.subject_hash LIMIT :limit

-- name: failed_outcomes_after
-- The same of those that are failed, by their numbers.
SELECT t.id, t.subject_hash, t.state, t.error, t.version, t.stale_since, t.model_no, t.sample, t.part,
    d.title, d.conv_uid, b.block_index, r.data, r.review_state, r.notes, r.id, r.reused_from,
    d.id, d.source_locator, b.locator, b.block_type, b.content, r.created_at, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'failed' AND t.id > :after
ORDER BY t.id LIMIT :limit

-- name: proposed_outcomes_after
-- The same of those that are proposed, by their numbers.
SELECT t.id, t.subject_hash, t.state, t.error, t.version, t.stale_since, t.model_no, t.sample, t.part,
    d.title, d.conv_uid, b.block_index, r.data, r.review_state, r.notes, r.id, r.reused_from,
    d.id, d.source_locator, b.locator, b.block_type, b.content, r.created_at, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'proposed' AND t.id > :after
ORDER BY t.id LIMIT :limit

-- name: blocked_outcomes_after
-- The same of those that are blocked, by their numbers.
SELECT t.id, t.subject_hash, t.state, t.error, t.version, t.stale_since, t.model_no, t.sample, t.part,
    d.title, d.conv_uid, b.block_index, r.data, r.review_state, r.notes, r.id, r.reused_from,
    d.id, d.source_locator, b.locator, b.block_type, b.content, r.created_at, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'blocked' AND t.id > :after
ORDER BY t.id LIMIT :limit

-- name: outcome_of_task
-- One task in the same form.
SELECT t.id, t.subject_hash, t.state, t.error, t.version, t.stale_since, t.model_no, t.sample, t.part,
    d.title, d.conv_uid, b.block_index, r.data, r.review_state, r.notes, r.id, r.reused_from,
    d.id, d.source_locator, b.locator, b.block_type, b.content, r.created_at, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: inputs_read_by_tasks
-- Which tasks some tasks read, in order; once anything was noted of what an answer used, what was left out is not among them.
SELECT ti.task_id, ti.input_task_id FROM task_inputs ti
JOIN (SELECT task_id, max(used_result_id) AS used FROM task_inputs WHERE task_id IN (:ids...) GROUP BY task_id) AS noted ON noted.task_id = ti.task_id
WHERE ti.task_id IN (:ids...) AND (ti.used_result_id IS NOT NULL OR noted.used IS NULL) ORDER BY ti.task_id, ti.ordinal

-- name: calls_of_tasks
-- How often calls that carried some tasks were sent, what each task's share of them cost, presumed or not, and when the
-- last one ended. The tasks of a call share its cost alike, to the picodollar: the first ones bear what is left over.
SELECT task_id, count(*), CAST(sum(cost / tasks + CASE WHEN ordinal <= cost - cost / tasks * tasks THEN 1 ELSE 0 END) AS INTEGER), max(at)
FROM (SELECT rt.task_id, rt.ordinal, q.tasks, coalesce(a.ended_at, a.sent_at) AS at,
        CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE coalesce(a.cost, 0) END AS cost
    FROM request_tasks rt JOIN requests q ON q.id = rt.request_id JOIN attempts a ON a.request_id = rt.request_id
    WHERE rt.task_id IN (:ids...)) AS shared
GROUP BY task_id

-- name: rejections_of_tasks
-- Who last rejected a result of some tasks, and when.
SELECT task_id, reviewer, reviewed_at FROM results WHERE task_id IN (:ids...) AND review_state = 'rejected' ORDER BY id

-- name: critiques_of_tasks
-- What critics said of the current results of some tasks, in the order of the recipe.
SELECT r.task_id, s.name, c.state, c.model_no, c.error, said.data
FROM results r JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace
JOIN stages s ON s.id = c.stage_id LEFT JOIN results said ON said.task_id = c.id AND said.superseded_at IS NULL
WHERE r.task_id IN (:ids...) AND r.superseded_at IS NULL ORDER BY r.task_id, s.id, c.model_no

-- name: causes_of_blocked_tasks
-- Why tasks of a run are blocked: what became of the tasks they read, the commonest first in each stage.
SELECT ws.name, s.name, i.state, coalesce(i.error, ''), i.error_kind, i.error_stage, count(DISTINCT w.id)
FROM stages ws JOIN tasks w ON w.stage_id = ws.id AND w.workspace_id = :workspace AND w.state = 'blocked'
JOIN task_inputs o ON o.task_id = w.id JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
JOIN stages s ON s.id = i.stage_id
WHERE ws.run_id = :run AND i.state IN ('failed', 'blocked', 'cancelled')
GROUP BY ws.id, ws.name, s.name, i.state, i.error, i.error_kind, i.error_stage ORDER BY ws.id, count(DISTINCT w.id) DESC, i.error LIMIT :limit

-- name: refusals_of_task
SELECT reasons FROM request_tasks WHERE task_id = :task AND reasons IS NOT NULL ORDER BY request_id

-- name: last_answers_of_tasks
-- The stored answers to calls that carried some tasks, the newest last.
SELECT rt.task_id, rt.wire_id, p.decoded, p.codec FROM request_tasks rt
JOIN attempts a ON a.request_id = rt.request_id AND a.state = 'settled' JOIN responses p ON p.attempt_id = a.id
WHERE rt.task_id IN (:ids...) AND p.decoded IS NOT NULL ORDER BY a.id

-- name: last_critiques_of_tasks
-- What critics said of results of some tasks, current or not, the newest last.
SELECT r.task_id, s.name, said.data FROM results r JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace
JOIN stages s ON s.id = c.stage_id JOIN results said ON said.task_id = c.id WHERE r.task_id IN (:ids...) ORDER BY said.id

-- name: all_critiques_of_task
-- What critics ever said of results of a task.
SELECT s.name, said.data FROM results r JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace
JOIN stages s ON s.id = c.stage_id JOIN results said ON said.task_id = c.id WHERE r.task_id = :task ORDER BY said.id

-- name: accepted_blocks_after
-- The next accepted results of a stage about blocks, in the order they came. The plus keeps the whole stage from being
-- read each time.
SELECT r.id, t.id, b.document_id, b.block_index, t.state, r.review_state, r.data, NULL, r.notes
FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND +t.stage_id = :stage AND t.state = 'done'
JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE r.id > :after AND r.superseded_at IS NULL ORDER BY r.id LIMIT :limit

-- name: failed_blocks
-- The failed tasks of a stage about blocks.
SELECT 0, t.id, b.document_id, b.block_index, t.state, NULL, NULL, t.error, NULL
FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'failed' ORDER BY t.id

-- name: answers_before_edits
-- What the model had answered where a person's data stands now, the newest last.
SELECT t.id, m.data FROM tasks t
JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'person'
JOIN results m ON m.task_id = t.id AND m.origin = 'model'
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND m.data IS NOT NULL ORDER BY m.id
