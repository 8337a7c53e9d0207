-- name: results_to_criticise
-- Current results of proposed tasks that this critic was not asked about yet.
SELECT t.id, r.id, t.model_no, t.sample, t.part, t.document_id, t.block_id, coalesce(t.origin_id, t.id)
FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.state = 'proposed'
  AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.workspace_id = :workspace AND c.judged_result_id = r.id AND c.stage_id + 0 = :critic)
ORDER BY t.id

-- name: tasks_to_criticise
-- Proposed tasks of a stage whose current result this critic was not asked about.
SELECT t.id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'proposed'
  AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.workspace_id = :workspace AND c.judged_result_id = r.id AND c.stage_id + 0 = :critic)
ORDER BY t.id LIMIT :limit

-- name: targets_of_critics
-- Of which results, still proposed and current, some critics' tasks have said something.
SELECT DISTINCT t.id FROM tasks c
JOIN results judged ON judged.id = c.judged_result_id AND judged.superseded_at IS NULL
JOIN tasks t ON t.id = judged.task_id AND t.workspace_id = :workspace AND t.state = 'proposed'
JOIN results said ON said.task_id = c.id AND said.superseded_at IS NULL
WHERE c.workspace_id = :workspace AND c.id IN (:ids...) ORDER BY t.id

-- name: critiques_of_proposed
-- What every critic has said of the current results of some proposed tasks.
SELECT c.stage_id, t.id, said.data FROM tasks t
JOIN results judged ON judged.task_id = t.id AND judged.superseded_at IS NULL
JOIN tasks c ON c.judged_result_id = judged.id AND c.workspace_id = :workspace AND c.state = 'done'
JOIN results said ON said.task_id = c.id AND said.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.state = 'proposed' ORDER BY c.id

-- name: unapplied_critiques
-- Answers of a critic's stage about results that are still proposed, as if nobody had spoken.
SELECT c.id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace AND c.stage_id = :critic AND c.state = 'done'
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'proposed' ORDER BY c.id LIMIT :limit

-- name: tasks_fully_criticised
-- Proposed tasks about whose current result every critic has spoken.
SELECT t.id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.state = 'proposed'
  AND NOT EXISTS (SELECT 1 FROM tasks c WHERE c.workspace_id = :workspace AND c.judged_result_id = r.id AND c.state <> 'done')
ORDER BY t.id

-- name: tries_of_tasks
SELECT id, tries FROM tasks WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: supersede_results
-- Current results that make way, unless a person has confirmed them.
UPDATE results SET superseded_at = :now
WHERE task_id IN (:ids...) AND superseded_at IS NULL AND review_state IN ('unreviewed', 'rejected')

-- name: ask_anew
-- Only answers to the next version count; it is asked with the reasons why the last one did not.
UPDATE tasks SET version = version + 1, next_kind = 'repair' WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: ask_for_repair
-- The same version is asked again, with the reasons why the last answers did not do, and alone.
UPDATE tasks SET next_kind = 'repair', pack_cap = 1 WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: failed_critiques_by_critic
-- Proposed tasks whose critic came to nothing.
SELECT t.id, t.tries, coalesce(c.error, 'it was given up') FROM tasks c
JOIN results r ON r.id = c.judged_result_id AND r.superseded_at IS NULL
JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND t.state = 'proposed'
WHERE c.workspace_id = :workspace AND c.stage_id = :stage AND c.state = 'failed' ORDER BY t.id LIMIT :limit

-- name: failed_critiques_by_target
-- The same, found by what is proposed, where that is less than what has failed.
SELECT t.id, t.tries, coalesce(c.error, 'it was given up') FROM tasks t
JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace AND c.stage_id + 0 = :stage AND c.state = 'failed'
WHERE t.workspace_id = :workspace AND t.stage_id = :above AND t.state = 'proposed' ORDER BY t.id LIMIT :limit
