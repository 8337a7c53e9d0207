-- name: drivers_of_stage
-- The tasks that another stage is expanded over, in subject order, from one on.
SELECT id, state, model_no, sample, part, document_id, block_id, subject_hash, origin_id FROM tasks
WHERE workspace_id = :workspace AND stage_id = :stage AND subject_hash >= :subject
  AND question_hash <> :purged ORDER BY subject_hash LIMIT :limit -- not what was purged

-- name: drivers_by_id
-- The tasks that lineages began at, or that groups are about.
SELECT id, state, model_no, sample, part, document_id, block_id, subject_hash, origin_id FROM tasks
WHERE workspace_id = :workspace AND id IN (:ids...) ORDER BY id

-- name: lineages_of_stage
-- The origins of a stage's tasks, from one on, each with how many tasks come from it.
SELECT origin_id, count(*) FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND origin_id >= :key
GROUP BY origin_id ORDER BY origin_id LIMIT :limit

-- name: groups_of_stage
-- The tasks that a stage's tasks are about, from one on, each with how many those are.
SELECT group_id, count(*) FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND group_id >= :key
GROUP BY group_id ORDER BY group_id LIMIT :limit

-- name: tasks_of_lineages
-- The tasks of a stage that come from some origins.
SELECT origin_id, id, state, model_no FROM tasks
WHERE workspace_id = :workspace AND stage_id = :stage AND origin_id IN (:origins...) ORDER BY origin_id, id

-- name: origins_in_stage
-- Those of some tasks that are of one stage: an origin belongs to its own lineage.
SELECT id, id, state, model_no FROM tasks WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:origins...) ORDER BY id

-- name: tasks_of_groups
-- The tasks of a stage that are about some tasks.
SELECT group_id, id, state, model_no FROM tasks
WHERE workspace_id = :workspace AND stage_id = :stage AND group_id IN (:groups...) ORDER BY group_id, id

-- name: input_documents
-- The documents of one input of a run, or of all, in order, from an ordinal on.
SELECT rd.ordinal, rd.document_id FROM run_documents rd JOIN documents d ON d.id = rd.document_id AND d.workspace_id = :workspace AND d.purged_at IS NULL
WHERE rd.run_id = :run AND (:input = '' OR rd.input = :input) AND rd.ordinal >= :ordinal ORDER BY rd.ordinal LIMIT :limit

-- name: input_blocks
-- The blocks of one input of a run, or of all, by key, from one on.
SELECT b.id, b.document_id FROM blocks b
WHERE b.workspace_id = :workspace AND b.id >= :key
  AND EXISTS (SELECT 1 FROM run_documents rd WHERE rd.run_id = :run AND rd.document_id = b.document_id AND (:input = '' OR rd.input = :input))
ORDER BY b.id LIMIT :limit

-- name: add_parts
-- rows: id int, workspace_id text, run_id int, stage_id int, block_id int, document_id int, model_no int, sample int, part text, judged_result_id int, subject_hash bytes, question_hash bytes, state text, origin_id int, group_id int, error text, error_kind text, error_stage text, error_task int
INSERT INTO tasks (id, workspace_id, run_id, stage_id, block_id, document_id, model_no, sample, part, judged_result_id, subject_hash, question_hash, state, origin_id, group_id, error, error_kind, error_stage, error_task)
SELECT rows.id, rows.workspace_id, rows.run_id, rows.stage_id, rows.block_id, rows.document_id, rows.model_no, rows.sample, rows.part, rows.judged_result_id, rows.subject_hash, rows.question_hash, rows.state, rows.origin_id, rows.group_id, rows.error, rows.error_kind, rows.error_stage, rows.error_task FROM rows

-- name: add_task_inputs
-- rows: task_id int, ordinal int, input_task_id int
INSERT INTO task_inputs (task_id, ordinal, input_task_id)
SELECT rows.task_id, rows.ordinal, rows.input_task_id FROM rows

-- name: add_task_documents
-- rows: task_id int, ordinal int, document_id int
INSERT INTO task_documents (task_id, ordinal, document_id)
SELECT rows.task_id, rows.ordinal, rows.document_id FROM rows

-- name: add_all_inputs
-- One task reads every task of some stages, of those in `own` only what its own model answered.
INSERT INTO task_inputs (task_id, ordinal, input_task_id)
SELECT :task, row_number() OVER (ORDER BY t.stage_id, t.subject_hash) - 1, t.id FROM tasks t
WHERE t.workspace_id = :workspace AND t.stage_id IN (:stages...) AND (t.model_no = :model OR NOT t.stage_id IN (:own...))

-- name: set_stage_subject
UPDATE stages SET cursor_subject = :subject, cursor_block = :made, expanded = expanded + :added WHERE id = :id

-- name: stage_subject
SELECT cursor_subject FROM stages WHERE id = :id

-- name: ancestors
-- What some tasks come from, at any distance, in some stages; each task is its own first ancestor.
WITH RECURSIVE up (task, id) AS (
    SELECT t.id, t.id FROM tasks t WHERE t.workspace_id = :workspace AND t.id IN (:ids...)
    UNION
    SELECT up.task, ti.input_task_id FROM up JOIN task_inputs ti ON ti.task_id = up.id)
SELECT up.task, t.stage_id, t.id, t.state, t.model_no FROM up JOIN tasks t ON t.id = up.id AND t.workspace_id = :workspace
WHERE t.stage_id IN (:stages...) ORDER BY up.task, t.stage_id, t.id

-- name: tasks_of_documents
-- The tasks of a stage about some documents. The plus keeps SQLite from reading the whole stage.
SELECT document_id, id, state, model_no FROM tasks
WHERE workspace_id = :workspace AND +stage_id = :stage AND document_id IN (:documents...) ORDER BY document_id, id

-- name: block_tasks_of_documents
-- The tasks of a stage about blocks of some documents. SQLite joins in the order written: it would read the whole stage.
SELECT b.document_id, t.id, t.state, t.model_no FROM blocks b CROSS JOIN tasks t
WHERE b.workspace_id = :workspace AND b.document_id IN (:documents...) AND t.block_id = b.id AND t.workspace_id = :workspace AND t.stage_id = :stage
ORDER BY b.document_id, b.block_index, t.id

-- name: tasks_of_blocks
-- The tasks of a stage about some blocks; the plus as above.
SELECT block_id, id, state, model_no FROM tasks
WHERE workspace_id = :workspace AND +stage_id = :stage AND block_id IN (:blocks...) ORDER BY block_id, id

-- name: first_tasks_of_stage
-- The tasks of a stage that has few.
SELECT id, state, model_no FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage ORDER BY subject_hash LIMIT :limit

-- name: dependants_to_release
-- Tasks that waited for one of these, and wait for nothing now. What they read is looked at from its end, which is
-- answered last: of thousands of inputs one look is enough, but for the last time.
SELECT w.id, w.stage_id FROM tasks w
WHERE w.id IN (SELECT ti.task_id FROM task_inputs ti WHERE ti.input_task_id IN (:ids...)) AND w.workspace_id = :workspace AND w.state = 'waiting' AND coalesce(w.follows, 0) = 0 AND (
    SELECT o.ordinal FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state <> 'done' ORDER BY o.ordinal DESC LIMIT 1) IS NULL
ORDER BY w.id

-- name: dependants_to_reset
-- Blocked tasks that read one of these, and none of whose inputs has ended badly any more; in stages that leave out
-- what is missing, one that is there is enough.
SELECT w.id, w.stage_id FROM tasks w
WHERE w.id IN (SELECT ti.task_id FROM task_inputs ti WHERE ti.input_task_id IN (:ids...)) AND w.workspace_id = :workspace AND w.state = 'blocked'
  AND (w.stage_id IN (:lenient...) OR NOT EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state IN ('failed', 'blocked', 'cancelled')))
ORDER BY w.id

-- name: tasks_to_release
-- Tasks of a stage that wait for nothing: every input is done.
SELECT w.id FROM tasks w WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'waiting' AND coalesce(w.follows, 0) = 0 AND NOT EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state <> 'done')
ORDER BY w.id LIMIT :limit

-- name: gathering_tasks_to_release
-- Tasks of a stage that take what there is: no input is still owed, and one is done, of the stage they are about if any.
SELECT w.id FROM tasks w WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'waiting' AND coalesce(w.follows, 0) = 0
  AND NOT EXISTS (SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state IN ('waiting', 'ready', 'packed', 'proposed'))
  AND EXISTS (SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state = 'done' AND (:about = 0 OR i.stage_id = :about))
ORDER BY w.id LIMIT :limit

-- name: tasks_to_block
-- Tasks of a stage that wait for what will not come, with the first input that ended so.
SELECT w.id, min(i.id), min(s.name) FROM tasks w JOIN task_inputs o ON o.task_id = w.id
JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace JOIN stages s ON s.id = i.stage_id
WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'waiting' AND coalesce(w.follows, 0) = 0 AND i.state IN ('failed', 'blocked', 'cancelled')
GROUP BY w.id ORDER BY w.id LIMIT :limit

-- name: gathering_tasks_to_block
-- Tasks of a stage that take what there is, where nothing is, nor is left to come; with the first input that ended badly.
SELECT w.id, min(CASE WHEN i.state IN ('failed', 'blocked', 'cancelled') THEN i.id END), min(CASE WHEN i.state IN ('failed', 'blocked', 'cancelled') THEN s.name END)
FROM tasks w LEFT JOIN task_inputs o ON o.task_id = w.id
LEFT JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace LEFT JOIN stages s ON s.id = i.stage_id
WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'waiting' AND coalesce(w.follows, 0) = 0
GROUP BY w.id HAVING max(CASE WHEN i.state IN ('waiting', 'ready', 'packed', 'proposed') OR (i.state = 'done' AND (:about = 0 OR i.stage_id = :about)) THEN 1 ELSE 0 END) = 0
ORDER BY w.id LIMIT :limit

-- name: gathering_tasks_to_reset
-- Blocked tasks of a stage that take what there is, for which something is there after all, or may come.
SELECT w.id FROM tasks w WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'blocked' AND EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND (i.state IN ('waiting', 'ready', 'packed', 'proposed') OR (i.state = 'done' AND (:about = 0 OR i.stage_id = :about))))
ORDER BY w.id LIMIT :limit

-- name: tasks_to_reset
-- Blocked tasks of a stage none of whose inputs has ended badly any more.
SELECT w.id FROM tasks w WHERE w.workspace_id = :workspace AND w.stage_id = :stage AND w.state = 'blocked' AND NOT EXISTS (
    SELECT 1 FROM task_inputs o JOIN tasks i ON i.id = o.input_task_id AND i.workspace_id = :workspace
    WHERE o.task_id = w.id AND i.state IN ('failed', 'blocked', 'cancelled'))
ORDER BY w.id LIMIT :limit

-- name: note_used_inputs
-- What a task's current result was made from.
-- rows: task_id int, ordinal int, used_result_id int
UPDATE task_inputs SET used_result_id = rows.used_result_id
FROM rows WHERE task_inputs.task_id = rows.task_id AND task_inputs.ordinal = rows.ordinal

-- name: mark_stale
-- Done or proposed tasks that read these, and used another result of theirs than the current one. A critic's word is
-- about the result it names, whatever became of that.
UPDATE tasks SET stale_since = :now
WHERE workspace_id = :workspace AND stale_since IS NULL AND judged_result_id IS NULL AND state IN ('done', 'proposed') AND id IN (
    SELECT ti.task_id FROM task_inputs ti JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace
    LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL AND i.state IN ('done', 'proposed')
    WHERE ti.input_task_id IN (:ids...) AND coalesce(ti.used_result_id, 0) <> coalesce(r.id, 0))

-- name: check_stale
-- Whether these, whose results are new, used what is current now.
UPDATE tasks SET stale_since = CASE WHEN EXISTS (
    SELECT 1 FROM task_inputs ti JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace
    LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL AND i.state IN ('done', 'proposed')
    WHERE ti.task_id = tasks.id AND coalesce(ti.used_result_id, 0) <> coalesce(r.id, 0)) THEN CAST(:now AS INTEGER) ELSE NULL END
WHERE workspace_id = :workspace AND judged_result_id IS NULL AND id IN (:ids...)

-- name: stale_without_cause
-- Marked tasks that read these, and used of all that they read what is current now.
SELECT t.id FROM task_inputs read JOIN tasks t ON t.id = read.task_id AND t.workspace_id = :workspace
WHERE read.input_task_id IN (:ids...) AND t.stale_since IS NOT NULL AND t.state IN ('done', 'proposed') AND NOT EXISTS (
    SELECT 1 FROM task_inputs ti JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace
    LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL AND i.state IN ('done', 'proposed')
    WHERE ti.task_id = t.id AND coalesce(ti.used_result_id, 0) <> coalesce(r.id, 0))

-- name: count_stale
SELECT s.name, count(*) FROM tasks t JOIN stages s ON s.id = t.stage_id
WHERE t.workspace_id = :workspace AND s.run_id = :run AND t.stale_since IS NOT NULL AND t.state IN ('done', 'proposed') GROUP BY s.id, s.name ORDER BY s.id

-- name: add_run_models
-- rows: run_id int, no int, name text, facts text
INSERT INTO run_models (run_id, no, name, facts) SELECT rows.run_id, rows.no, rows.name, rows.facts FROM rows

-- name: models_of_run
SELECT no, name, facts FROM run_models WHERE run_id = :run ORDER BY no

-- name: tasks_to_copy
-- A stage's tasks by key, after one, as they ended; what other critics are to judge is proposed again.
SELECT t.id, t.model_no, t.workspace_id, t.block_id, t.document_id, t.sample, t.part, t.judged_result_id, t.origin_id, t.group_id, t.subject_hash, t.question_hash, t.version, CASE WHEN :anew = 1 AND t.state IN ('done', 'failed') AND EXISTS (
        SELECT 1 FROM results r WHERE r.task_id = t.id AND r.superseded_at IS NULL AND r.review_state IN ('unreviewed', 'rejected'))
    THEN 'proposed' ELSE t.state END, CASE WHEN :anew = 1 THEN 0 ELSE t.tries END, CASE WHEN :anew = 1 THEN 0 ELSE t.calls END, t.error, t.error_kind, t.error_stage, t.error_task, t.stale_since, t.waived_at
FROM tasks t WHERE t.workspace_id = :workspace AND t.stage_id = :original AND t.id > :after
  AND NOT EXISTS (SELECT 1 FROM results r WHERE r.task_id = t.id AND r.superseded_at IS NULL AND r.data IS NULL) -- not what was purged
ORDER BY t.id LIMIT :limit

-- name: add_copies
-- rows: id int, run_id int, stage_id int, model_no int, workspace_id text, block_id int, document_id int, sample int, part text, judged_result_id int, origin_id int, group_id int, subject_hash bytes, question_hash bytes, version int, state text, tries int, calls int, error text, error_kind text, error_stage text, error_task int, stale_since int, waived_at int
INSERT INTO tasks (id, run_id, stage_id, model_no, workspace_id, block_id, document_id, sample, part, judged_result_id, origin_id, group_id, subject_hash, question_hash, version, state, tries, calls, error, error_kind, error_stage, error_task, stale_since, waived_at)
SELECT rows.id, rows.run_id, rows.stage_id, rows.model_no, rows.workspace_id, rows.block_id, rows.document_id, rows.sample, rows.part, rows.judged_result_id, rows.origin_id, rows.group_id, rows.subject_hash, rows.question_hash, rows.version, rows.state, rows.tries, rows.calls, rows.error, rows.error_kind, rows.error_stage, rows.error_task, rows.stale_since, rows.waived_at FROM rows

-- name: copy_results
-- The current results of a stage's tasks for their copies; the call that was paid for stays with the other run.
INSERT INTO results (task_id, version, attempt_id, reused_from, origin, gate_version, data, notes, review_state, reviewer, reviewed_at, created_at, stage_id, review_reasons, critic_score, review_rank)
SELECT copy.id, r.version, r.attempt_id, r.id, r.origin, r.gate_version, r.data, r.notes, r.review_state, r.reviewer, r.reviewed_at, r.created_at, copy.stage_id, r.review_reasons, r.critic_score,
    CASE WHEN copy.state = 'proposed' THEN NULL ELSE r.review_rank END
FROM tasks copy JOIN tasks t ON t.stage_id = :original AND t.subject_hash = copy.subject_hash AND t.workspace_id = :workspace
JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE copy.workspace_id = :workspace AND copy.stage_id = :stage

-- name: copy_task_documents
INSERT INTO task_documents (task_id, ordinal, document_id)
SELECT copy.id, td.ordinal, td.document_id
FROM tasks copy JOIN tasks t ON t.stage_id = :original AND t.subject_hash = copy.subject_hash AND t.workspace_id = :workspace
JOIN task_documents td ON td.task_id = t.id
WHERE copy.workspace_id = :workspace AND copy.stage_id = :stage

-- name: copy_task_inputs
-- What the copies read, among copies: every stage above was copied before.
INSERT INTO task_inputs (task_id, ordinal, input_task_id, used_result_id)
SELECT copy.id, ti.ordinal, above.id, (SELECT r.id FROM results r WHERE r.task_id = above.id AND r.reused_from = ti.used_result_id)
FROM tasks copy JOIN tasks t ON t.stage_id = :original AND t.subject_hash = copy.subject_hash AND t.workspace_id = :workspace
JOIN task_inputs ti ON ti.task_id = t.id
JOIN tasks read ON read.id = ti.input_task_id AND read.workspace_id = :workspace
JOIN stages old ON old.id = read.stage_id
JOIN stages new ON new.run_id = copy.run_id AND new.name = old.name
JOIN tasks above ON above.stage_id = new.id AND above.subject_hash = read.subject_hash AND above.workspace_id = :workspace
WHERE copy.workspace_id = :workspace AND copy.stage_id = :stage

-- name: point_critics_at_copies
-- The copies of critics judge the copies of results.
UPDATE tasks SET judged_result_id = (
    SELECT r.id FROM task_inputs ti JOIN results r ON r.task_id = ti.input_task_id AND r.reused_from = tasks.judged_result_id WHERE ti.task_id = tasks.id)
WHERE workspace_id = :workspace AND stage_id = :stage AND judged_result_id IS NOT NULL

-- name: point_lineage_at_copies
-- The copies come from copies, and are about copies; of what was purged there is none.
UPDATE tasks SET origin_id = coalesce((
    SELECT copy.id FROM tasks o JOIN stages old ON old.id = o.stage_id JOIN stages new ON new.run_id = :run AND new.name = old.name
    JOIN tasks copy ON copy.stage_id = new.id AND copy.subject_hash = o.subject_hash AND copy.workspace_id = :workspace
    WHERE o.id = tasks.origin_id AND o.workspace_id = :workspace), origin_id), group_id = coalesce((
    SELECT copy.id FROM tasks g JOIN stages old ON old.id = g.stage_id JOIN stages new ON new.run_id = :run AND new.name = old.name
    JOIN tasks copy ON copy.stage_id = new.id AND copy.subject_hash = g.subject_hash AND copy.workspace_id = :workspace
    WHERE g.id = tasks.group_id AND g.workspace_id = :workspace), group_id)
WHERE workspace_id = :workspace AND stage_id = :stage AND origin_id IS NOT NULL
