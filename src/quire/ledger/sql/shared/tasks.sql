-- name: expand_blocks
-- Tasks about the next blocks of a run's inputs, after a document ordinal and a block index. A subject is named by its
-- block's key, ascending, so that the index grows at its end; its question is the stage's, then the content.
INSERT INTO tasks (workspace_id, run_id, stage_id, block_id, subject_hash, question_hash, state)
SELECT :workspace, :run, :stage, b.id, CAST(printf('%016x', b.id) AS BLOB), CAST(:question || b.content_hash AS BLOB), :state
FROM run_documents rd JOIN blocks b ON b.document_id = rd.document_id AND b.workspace_id = :workspace
WHERE rd.run_id = :run AND rd.ordinal >= :ordinal
  AND b.block_index > CASE WHEN rd.ordinal = :ordinal THEN CAST(:index AS INTEGER) ELSE -1 END
ORDER BY rd.ordinal, b.block_index LIMIT :limit

-- name: expand_sampled_blocks
-- The same for the next blocks of a run's sample.
INSERT INTO tasks (workspace_id, run_id, stage_id, block_id, subject_hash, question_hash, state)
SELECT :workspace, :run, :stage, b.id, CAST(printf('%016x', b.id) AS BLOB), CAST(:question || b.content_hash AS BLOB), :state
FROM run_blocks rb JOIN run_documents rd ON rd.run_id = rb.run_id AND rd.ordinal = rb.ordinal
JOIN blocks b ON b.document_id = rd.document_id AND b.block_index = rb.block_index AND b.workspace_id = :workspace
WHERE rb.run_id = :run AND (rb.ordinal > :ordinal OR (rb.ordinal = :ordinal AND rb.block_index > :index))
ORDER BY rb.ordinal, rb.block_index LIMIT :limit

-- name: last_ready_block
-- Of a stage that was just expanded: where expansion goes on.
SELECT rd.ordinal, b.block_index FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
JOIN run_documents rd ON rd.run_id = t.run_id AND rd.document_id = b.document_id
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = 0 AND t.state = 'ready'
ORDER BY t.id DESC, rd.ordinal DESC LIMIT 1

-- name: ready_tasks
-- What may be packed, in subject order: ready, and no live request carries this version.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, b.json_bytes, b.block_index, b.block_type, b.content, coalesce(b.content_id, b.id)
FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = 0 AND t.state = 'ready'
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') AND r.late = 0)
ORDER BY t.id LIMIT :limit

-- name: move_tasks
-- The one way a task changes state.
UPDATE tasks SET state = :target
WHERE workspace_id = :workspace AND id IN (:ids...) AND state = :source RETURNING stage_id

-- name: move_task_group
-- Tasks of one stage that are all in one state; `calls` counts an answered call with the move. The plus keeps SQLite
-- from looking through the whole stage for them.
UPDATE tasks SET state = :target, calls = calls + :calls
WHERE workspace_id = :workspace AND +stage_id = :stage AND id IN (:ids...) AND state = :source

-- name: count_calls
UPDATE tasks SET calls = calls + 1 WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: note_tasks
-- What a wrong or lost answer taught about each task.
-- rows: id int, tries int, pack_cap int, output_floor int, error text, error_kind text, error_stage text, error_task int
UPDATE tasks SET tries = rows.tries, pack_cap = rows.pack_cap,
    output_floor = CASE WHEN rows.output_floor > tasks.output_floor THEN rows.output_floor ELSE tasks.output_floor END,
    error = rows.error, error_kind = rows.error_kind, error_stage = rows.error_stage, error_task = rows.error_task
FROM rows WHERE tasks.id = rows.id

-- name: move_stage_tasks
-- All tasks of a stage in one state at once.
UPDATE tasks SET state = :target WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source

-- name: grant_tasks
-- Failed (or cancelled) tasks go again with fresh tries and calls; what they learnt about packs stays.
-- Who failed in the midst of a chain goes on with it; whose chain was refused as a whole begins anew.
UPDATE tasks SET state = :target, tries = 0, calls = 0, waived_at = NULL,
    next_kind = CASE WHEN next_kind = 'continuation' THEN next_kind ELSE 'answer' END,
    version = CASE WHEN next_kind <> 'continuation' AND EXISTS (SELECT 1 FROM pieces p WHERE p.task_id = tasks.id AND p.version = tasks.version)
        THEN version + 1 ELSE version END
WHERE workspace_id = :workspace AND stage_id = :stage AND state = :source
  AND question_hash <> :purged -- nothing can be asked about what was purged

-- name: count_unwaived_failures
SELECT count(*) FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND state = 'failed' AND waived_at IS NULL
  AND NOT EXISTS (SELECT 1 FROM results r WHERE r.id = tasks.judged_result_id AND r.superseded_at IS NOT NULL) -- nobody waits for its word

-- name: waive_task
UPDATE tasks SET waived_at = :now WHERE workspace_id = :workspace AND id = :id AND state = 'failed' AND waived_at IS NULL

-- name: failures_of_stage
-- Failed tasks, each with what it is about: a block or a document, the first result it reads, who was asked;
-- and what was asked, which says so where it was purged.
SELECT t.id, d.conv_uid || ':' || CAST(b.block_index AS TEXT), coalesce(d.title, ''), t.tries, coalesce(t.error, ''),
    t.model_no, t.sample, (SELECT ti.input_task_id FROM task_inputs ti WHERE ti.task_id = t.id AND ti.ordinal = 0),
    t.error_kind, t.error_stage, t.error_task, coalesce(d.source_locator, ''), b.block_index, t.part, t.question_hash
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'failed' ORDER BY t.id LIMIT :limit

-- name: blocked_tasks_of_stage
-- The same of blocked tasks.
SELECT t.id, d.conv_uid || ':' || CAST(b.block_index AS TEXT), coalesce(d.title, ''), t.tries, coalesce(t.error, ''),
    t.model_no, t.sample, (SELECT ti.input_task_id FROM task_inputs ti WHERE ti.task_id = t.id AND ti.ordinal = 0),
    t.error_kind, t.error_stage, t.error_task, coalesce(d.source_locator, ''), b.block_index, t.part, t.question_hash
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'blocked' ORDER BY t.id LIMIT :limit

-- name: task_before
-- The task before one in the order in which a stage's results are listed.
SELECT n.id FROM tasks t JOIN tasks n ON n.stage_id = t.stage_id AND n.subject_hash < t.subject_hash AND n.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id = :id ORDER BY n.subject_hash DESC LIMIT 1

-- name: task_after
SELECT n.id FROM tasks t JOIN tasks n ON n.stage_id = t.stage_id AND n.subject_hash > t.subject_hash AND n.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id = :id ORDER BY n.subject_hash LIMIT 1

-- name: get_task
SELECT t.id, t.run_id, t.stage_id, d.conv_uid || ':' || CAST(b.block_index AS TEXT), t.state, t.tries, t.calls, t.error,
    (SELECT max(rt.request_id) FROM request_tasks rt WHERE rt.task_id = t.id), coalesce(d.title, ''),
    t.model_no, t.sample, (SELECT ti.input_task_id FROM task_inputs ti WHERE ti.task_id = t.id AND ti.ordinal = 0),
    t.error_kind, t.error_stage, t.error_task, t.part, t.question_hash
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: task_content
-- One task as prepare would read it, whatever its state.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, b.json_bytes, b.block_index, b.block_type, b.content, coalesce(b.content_id, b.id)
FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id = :id
