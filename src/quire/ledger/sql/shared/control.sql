-- name: repropose_tasks
-- Failed tasks whose answer is there and whose critic came to nothing, or cancelled ones that waited for their critic:
-- only the critic's word is owed.
UPDATE tasks SET state = :target, tries = 0, calls = 0, error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL
WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND (:source = 'cancelled' OR EXISTS (
        SELECT 1 FROM tasks c WHERE c.workspace_id = :workspace AND c.judged_result_id = r.id AND c.state IN ('failed', 'cancelled'))))

-- name: grant_critics
-- Critics that came to nothing are asked again, where somebody still waits for their word; their chains as in grant_tasks.
UPDATE tasks SET state = :target, tries = 0, calls = 0, waived_at = NULL,
    next_kind = CASE WHEN next_kind = 'continuation' THEN next_kind ELSE 'answer' END,
    version = CASE WHEN next_kind <> 'continuation' AND EXISTS (SELECT 1 FROM pieces p WHERE p.task_id = tasks.id AND p.version = tasks.version)
        THEN version + 1 ELSE version END
WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND t.state = 'proposed'
    WHERE r.id = tasks.judged_result_id AND r.superseded_at IS NULL)

-- name: renew_objected_tasks
-- Failed tasks whose answer was objected to for the last time: only a new version of it counts.
UPDATE tasks SET version = version + 1 WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))

-- name: supersede_objected_results
UPDATE results SET superseded_at = :now
WHERE superseded_at IS NULL AND review_state IN ('unreviewed', 'rejected') AND task_id IN (
    SELECT id FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source)

-- name: judged_by_critics
-- The tasks whose results these critics judge.
SELECT DISTINCT r.task_id FROM tasks c JOIN results r ON r.id = c.judged_result_id
WHERE c.workspace_id = :workspace AND c.id IN (:ids...)

-- name: repropose_chosen_tasks
-- The next four are repropose_tasks, renew_objected_tasks, supersede_objected_results and grant_tasks for some tasks of a stage.
UPDATE tasks SET state = :target, tries = 0, calls = 0, error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL
WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:ids...) AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND (:source = 'cancelled' OR EXISTS (
        SELECT 1 FROM tasks c WHERE c.workspace_id = :workspace AND c.judged_result_id = r.id AND c.state IN ('failed', 'cancelled'))))

-- name: renew_chosen_tasks
UPDATE tasks SET version = version + 1 WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:ids...) AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))

-- name: supersede_chosen_results
UPDATE results SET superseded_at = :now
WHERE superseded_at IS NULL AND review_state IN ('unreviewed', 'rejected') AND task_id IN (
    SELECT id FROM tasks WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:ids...) AND state = :source)

-- name: grant_chosen_tasks
UPDATE tasks SET state = :target, tries = 0, calls = 0, waived_at = NULL,
    next_kind = CASE WHEN next_kind = 'continuation' THEN next_kind ELSE 'answer' END,
    version = CASE WHEN next_kind <> 'continuation' AND EXISTS (SELECT 1 FROM pieces p WHERE p.task_id = tasks.id AND p.version = tasks.version)
        THEN version + 1 ELSE version END
WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:ids...) AND state = :source
  AND question_hash <> :purged

-- name: supersede_renewed_results
-- Results that make way: of a whole stage, or of what is stale in it. What a person confirmed stays.
UPDATE results SET superseded_at = :now
WHERE superseded_at IS NULL AND review_state IN ('unreviewed', 'rejected') AND task_id IN (
    SELECT id FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage
      AND (:stale = 0 OR (stale_since IS NOT NULL AND state IN ('done', 'proposed')))
      AND question_hash <> :purged)

-- name: renew_moved_tasks
-- Only answers to the next version count, with fresh tries and calls; the move is part of it, because writing a row
-- twice takes twice as long. Nothing can be asked about what was purged.
UPDATE tasks SET state = :target, version = version + 1, tries = 0, calls = 0, next_kind = 'answer', error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL
WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source
  AND (:stale = 0 OR stale_since IS NOT NULL) AND question_hash <> :purged
  AND NOT EXISTS (SELECT 1 FROM results r WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND r.review_state IN ('approved', 'edited'))

-- name: renew_owed_tasks
-- The same of tasks that stay where they are.
UPDATE tasks SET version = version + 1, tries = 0, calls = 0, next_kind = 'answer', error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL
WHERE workspace_id = :workspace AND stage_id = :stage AND state IN ('waiting', 'ready')
  AND question_hash <> :purged

-- name: move_orphaned_critics
-- Critics whose judged result made way: nobody waits for their word.
UPDATE tasks SET state = :target WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.id = tasks.judged_result_id AND r.superseded_at IS NOT NULL)

-- name: renew_critics
-- Critics of results that are current and that no person has confirmed: only their next word counts.
UPDATE tasks SET version = version + 1, tries = 0, calls = 0, next_kind = 'answer', error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL
WHERE workspace_id = :workspace AND stage_id = :stage AND EXISTS (
    SELECT 1 FROM results r WHERE r.id = tasks.judged_result_id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))

-- name: supersede_critiques
UPDATE results SET superseded_at = :now WHERE superseded_at IS NULL AND task_id IN (
    SELECT c.id FROM tasks c JOIN results r ON r.id = c.judged_result_id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected')
    WHERE c.workspace_id = :workspace AND c.stage_id = :stage)

-- name: move_critics
UPDATE tasks SET state = :target WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r WHERE r.id = tasks.judged_result_id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))

-- name: propose_judged_tasks
-- Tasks whose result a critic of this stage was asked about, and is asked again.
UPDATE tasks SET state = :target, error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM results r JOIN tasks c ON c.judged_result_id = r.id AND c.workspace_id = :workspace AND c.stage_id = :critic
    WHERE r.task_id = tasks.id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))

-- name: reset_without_inputs
-- Tasks that may no longer go: not everything they read is done.
UPDATE tasks SET state = :target WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = tasks.id AND i.state <> 'done')

-- name: reset_gathering_without_inputs
-- Tasks that take what there is, and may no longer go: something is still owed, or nothing is done.
UPDATE tasks SET state = :target WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source AND (EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = tasks.id AND i.state IN ('waiting', 'ready', 'packed', 'proposed'))
  OR NOT EXISTS (SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = tasks.id AND i.state = 'done' AND (:about = 0 OR i.stage_id = :about)))

-- name: mark_stage_stale
-- Done or proposed tasks of a stage that used another result than the current one.
UPDATE tasks SET stale_since = :now
WHERE workspace_id = :workspace AND stage_id = :stage AND stale_since IS NULL AND judged_result_id IS NULL AND state IN ('done', 'proposed') AND EXISTS (
    SELECT 1 FROM task_inputs ti JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace
    LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL AND i.state IN ('done', 'proposed')
    WHERE ti.task_id = tasks.id AND coalesce(ti.used_result_id, 0) <> coalesce(r.id, 0))

-- name: stale_tasks
-- Stale tasks of a stage that are asked again where somebody says so: not what a person confirmed, nor what was purged.
SELECT t.id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.stale_since IS NOT NULL AND t.state IN ('done', 'proposed')
  AND r.data IS NOT NULL AND r.review_state NOT IN ('approved', 'edited')
ORDER BY t.id LIMIT :limit

-- name: readers_to_renew
-- The same of answered tasks that read some that are asked again.
SELECT DISTINCT t.id FROM task_inputs ti JOIN tasks t ON t.id = ti.task_id AND t.workspace_id = :workspace AND +t.stage_id = :stage
JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE ti.input_task_id IN (:ids...) AND t.judged_result_id IS NULL AND t.state IN ('done', 'proposed')
  AND r.data IS NOT NULL AND r.review_state NOT IN ('approved', 'edited')

-- name: unsent_requests_of_stages
SELECT q.id FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'queued'
WHERE l.workspace_id = :workspace AND l.stage_id IN (:stages...) ORDER BY q.id LIMIT :limit

-- name: waive_critics
-- The critics that failed a task are gone on without, together with it.
UPDATE tasks SET waived_at = :now
WHERE workspace_id = :workspace AND state = 'failed' AND waived_at IS NULL AND judged_result_id IN (
    SELECT id FROM results WHERE task_id = :id)

-- name: has_command_of_other_body
-- Whether a key was used for the same command with another body: ids are one digest after the other.
SELECT 1 FROM commands
WHERE workspace_id = :workspace AND id > :first AND id < :last AND substr(id, 1, 64) <> :id
LIMIT 1

-- name: has_command
SELECT 1 FROM commands WHERE workspace_id = :workspace AND id = :id

-- name: answered_tasks
-- Tasks of a stage whose answers were judged, in order, each with its current result if it has one. The plus keeps
-- both databases from sorting the whole stage.
SELECT t.id, t.state, t.version, r.id, r.attempt_id, r.data, r.review_state, t.error
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND +t.stage_id = :stage AND t.id > :after AND t.state IN ('done', 'proposed', 'failed')
ORDER BY t.id LIMIT :limit

-- name: answers_of_tasks
-- The attempts that answered the current version of some tasks, the newest first, each with the task that it was asked
-- for: an answer may have been taken from elsewhere. A piece by itself is no answer. Where a person took a rejection
-- back, an older version stands than the one that was asked for.
SELECT t.id, a.id, t.id FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
JOIN attempts a ON a.request_id = rt.request_id AND a.state = 'settled'
JOIN responses p ON p.attempt_id = a.id AND p.decoded IS NOT NULL
WHERE rt.task_id IN (:ids...) AND rt.version = coalesce((SELECT r.version FROM results r WHERE r.task_id = t.id AND r.superseded_at IS NULL), t.version)
  AND NOT EXISTS (SELECT 1 FROM pieces c WHERE c.attempt_id = a.id)
UNION ALL
SELECT r.task_id, r.attempt_id, coalesce(root.task_id, o.task_id) FROM results r JOIN results o ON o.id = r.reused_from
LEFT JOIN results root ON root.id = o.reused_from
JOIN responses p ON p.attempt_id = r.attempt_id AND p.decoded IS NOT NULL
WHERE r.task_id IN (:ids...) AND r.superseded_at IS NULL
ORDER BY 1, 2 DESC

-- name: stored_answers
-- Answers that were judged before.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, q.late, q.parent_attempt_id,
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens + a.output_tokens - coalesce(a.reasoning_tokens, 0), 0),
    p.decoded, p.codec, p.stop,
    CASE WHEN length(p.decoded) < 32 THEN p.reasoning END
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.id IN (:ids...) AND p.decoded IS NOT NULL ORDER BY a.id

-- name: supersede_results_by_key
-- Results that make way for what newer gates say; what a person confirmed in the meantime stays.
UPDATE results SET superseded_at = :now
WHERE id IN (:ids...) AND superseded_at IS NULL AND review_state IN ('unreviewed', 'rejected') RETURNING task_id

-- name: judged_targets
-- Done tasks about whose current result some critics were asked, and that no person has confirmed.
SELECT DISTINCT t.id FROM tasks c
JOIN results r ON r.id = c.judged_result_id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected')
JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND t.state = 'done'
WHERE c.workspace_id = :workspace AND c.id IN (:ids...) ORDER BY t.id

-- name: get_task_for_decision
-- One task with its current result, as a person who decides about it sees it.
SELECT t.id, t.run_id, t.stage_id, t.state, t.version, t.part, r.id, r.data, r.gate_version, r.review_state, r.notes
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: review_result
-- What a person says of a current result; nothing where somebody was quicker.
UPDATE results SET review_state = :target, reviewer = :reviewer, reviewed_at = :now, review_rank = coalesce(review_rank, 6)
WHERE id = :id AND superseded_at IS NULL AND review_state = :source RETURNING id

-- name: supersede_edited_result
-- A current result that makes way for a person's own, also where a person had confirmed it.
UPDATE results SET superseded_at = :now WHERE id = :id AND superseded_at IS NULL RETURNING id

-- name: add_edited_result
-- A person's own result, in the place of the one that was superseded.
INSERT INTO results (task_id, version, gate_version, data, notes, review_state, reviewer, reviewed_at, created_at, origin, stage_id, review_rank)
VALUES (:task, :version, :gate_version, :data, :notes, :review, :reviewer, :now, :now, 'person', :stage, 6)

-- name: clear_task_error
-- A person's word stands: nothing that was said against the answer does.
UPDATE tasks SET error = NULL, error_kind = NULL, error_stage = NULL, error_task = NULL, waived_at = NULL WHERE workspace_id = :workspace AND id = :id

-- name: ask_again_rejected
-- Only an answer to the next version counts, asked alone and with a person's note, with fresh tries and calls.
UPDATE tasks SET version = version + 1, tries = 0, calls = 0, next_kind = 'repair', pack_cap = 1, error = :note, error_kind = 'rejected', error_stage = NULL, error_task = NULL,
    waived_at = NULL
WHERE workspace_id = :workspace AND id = :id

-- name: critics_of_result
-- Critics of one result that have not spoken, or came to nothing.
SELECT id FROM tasks WHERE workspace_id = :workspace AND judged_result_id = :result AND state NOT IN ('done', 'cancelled') ORDER BY id

-- name: unsent_requests_of_tasks
-- Unsent requests that carry some tasks.
SELECT DISTINCT q.id FROM request_tasks rt JOIN requests q ON q.id = rt.request_id AND q.state = 'queued'
JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE rt.task_id IN (:ids...) ORDER BY q.id
