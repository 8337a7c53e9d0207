-- Reasons as values: a kind, and fields where it has some. Nothing decides by the sentences that stand beside them.

ALTER TABLE batches ADD COLUMN absent_at INTEGER;                       -- it was taken for never made, and is made again
ALTER TABLE batches ADD COLUMN duplicate_found_at INTEGER;              -- it had been made more than once after all
ALTER TABLE batches ADD COLUMN trouble TEXT NOT NULL DEFAULT 'none';    -- what `problem` says, as a kind
ALTER TABLE holds ADD COLUMN cause TEXT;                                -- NULL: written by an older version
ALTER TABLE holds ADD COLUMN fields TEXT NOT NULL DEFAULT '{}';         -- what `detail` was made from, as JSON
ALTER TABLE events ADD COLUMN fields TEXT NOT NULL DEFAULT '{}';        -- the same
ALTER TABLE tasks ADD COLUMN error_kind TEXT;                           -- what `error` says, as a kind
ALTER TABLE tasks ADD COLUMN error_stage TEXT;                          -- the critic, or the stage of what blocks it
ALTER TABLE tasks ADD COLUMN error_task INTEGER;                        -- what blocks it

UPDATE batches SET
    absent_at = (SELECT max(e.at) FROM lanes l JOIN events e ON e.run_id = l.run_id WHERE l.id = batches.lane_id
        AND e.kind = 'batch_absent' AND e.detail = 'batch ' || CAST(batches.id AS TEXT) || ' was never made'),
    duplicate_found_at = (SELECT max(e.at) FROM lanes l JOIN events e ON e.run_id = l.run_id WHERE l.id = batches.lane_id
        AND e.kind = 'batch_made_twice' AND e.detail LIKE 'batch ' || CAST(batches.id AS TEXT) || ' was made a second time, as %')
WHERE 'batch ' || CAST(id AS TEXT) || ' was never made' IN (SELECT e.detail FROM events e WHERE e.kind = 'batch_absent');

UPDATE batches SET trouble = CASE
    WHEN problem = 'a person must look' THEN 'needs_person'
    WHEN problem = 'its key is missing' THEN 'key_missing'
    WHEN problem = 'the worker that submitted it is gone' THEN 'worker_gone'
    WHEN problem LIKE 'not found yet%' THEN 'not_found_yet'
    WHEN problem LIKE 'an earlier submission was made, as %' THEN 'earlier_found'
    ELSE 'provider_said' END
WHERE problem <> '';

-- A hold whose sentence names no command, as some did once, stays without a cause: its kind says what helps.
UPDATE holds SET cause = CASE
    WHEN detail LIKE '%the same command%' THEN 'no_key'
    WHEN kind = 'user' THEN 'paused'
    WHEN kind = 'stop_after' THEN 'stop_after'
    WHEN kind = 'failures' AND detail LIKE '% of the first % tasks failed%' THEN 'early_failures'
    WHEN kind = 'failures' THEN 'exact_failures'
    WHEN kind = 'refused' THEN 'batch_refused'
    WHEN kind = 'plugin' THEN 'plugin'
    WHEN kind = 'unknown_submit' AND detail LIKE 'what was found as batch %' THEN 'batch_foreign'
    WHEN kind = 'unknown_submit' THEN 'batch_unknown'
    WHEN kind = 'undecodable' AND detail LIKE 'batch % has calls without a row,%' THEN 'lines_unreadable'
    WHEN kind = 'undecodable' THEN 'answer_unreadable'
    WHEN kind = 'credential' AND detail LIKE 'batch %quire batches adopt%' THEN 'batch_unreachable'
    WHEN kind = 'credential' AND detail LIKE 'batch %' THEN 'batch_key_missing'
    WHEN kind = 'credential' THEN 'call_refused' END
WHERE kind = 'unknown_submit' OR detail LIKE '%the same command%'
    OR detail LIKE '%quire resume ' || CAST(run_id AS TEXT) || '%' OR detail LIKE '%quire retry ' || CAST(run_id AS TEXT) || '%';

UPDATE holds SET fields = coalesce((SELECT '{"stage": "' || s.name || '"}' FROM stages s WHERE s.run_id = holds.run_id
    AND substr(holds.detail, 1, length(s.name) + 24) = 'stopped after ' || s.name || ', as asked'), '{}')
WHERE kind = 'stop_after';

-- What blocks a task is one of those that it reads.
UPDATE tasks SET error_kind = 'blocked',
    error_task = (SELECT min(i.input_task_id) FROM task_inputs i WHERE i.task_id = tasks.id
        AND (tasks.error LIKE 'task ' || CAST(i.input_task_id AS TEXT) || ' of %'
            OR tasks.error LIKE 'task ' || CAST(i.input_task_id AS TEXT) || ', which it reads%'))
WHERE state = 'blocked' AND error LIKE 'task %, which it reads, %';

UPDATE tasks SET error_stage = (SELECT s.name FROM tasks t JOIN stages s ON s.id = t.stage_id WHERE t.id = tasks.error_task)
WHERE state = 'blocked' AND error_task IS NOT NULL;

-- A critic that objected has had tasks; its name stands before what it said.
UPDATE tasks SET error_kind = 'critic_objected', error_stage = (SELECT s.name FROM stages s WHERE s.run_id = tasks.run_id
    AND substr(tasks.error, 1, length(s.name) + 2) = s.name || ': ')
WHERE state = 'failed' AND EXISTS (SELECT 1 FROM stages s WHERE s.run_id = tasks.run_id
    AND substr(tasks.error, 1, length(s.name) + 2) = s.name || ': '
    AND s.id IN (SELECT DISTINCT c.stage_id FROM tasks c WHERE c.judged_result_id IS NOT NULL));
