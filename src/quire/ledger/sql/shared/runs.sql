-- name: add_run
INSERT INTO runs (workspace_id, run_key, recipe, model, policy, state, task_limit, created_at, started_by)
VALUES (:workspace, :key, :recipe, :model, :policy, :state, :task_limit, :now, :person) RETURNING id

-- name: inputs_of_run
-- The documents of a run in order, each with the input it belongs to.
SELECT rd.document_id, rd.input FROM run_documents rd JOIN documents d ON d.id = rd.document_id AND d.workspace_id = :workspace AND d.purged_at IS NULL
WHERE rd.run_id = :run ORDER BY rd.ordinal

-- name: add_run_documents
-- rows: run_id int, ordinal int, document_id int, input text
INSERT INTO run_documents (run_id, ordinal, document_id, input)
SELECT rows.run_id, rows.ordinal, rows.document_id, rows.input FROM rows

-- name: add_run_blocks
-- rows: run_id int, ordinal int, block_index int
INSERT INTO run_blocks (run_id, ordinal, block_index)
SELECT rows.run_id, rows.ordinal, rows.block_index FROM rows

-- name: set_block_types
UPDATE runs SET block_types = :types WHERE workspace_id = :workspace AND id = :id

-- name: newest_run_of_key
-- The newest run of the same order that was not cancelled: the same command goes on with it. One that somebody else began
-- is left alone where they have keys of their own: their money would pay for it; one's own comes first.
SELECT r.id FROM runs r WHERE r.workspace_id = :workspace AND r.run_key = :key AND r.state IN ('running', 'finished')
  AND (r.started_by = '' OR r.started_by = :person OR NOT EXISTS (
    SELECT 1 FROM credentials c WHERE c.workspace_id = :workspace AND c.person = r.started_by AND c.removed_at IS NULL))
ORDER BY CASE WHEN r.started_by = :person THEN 0 ELSE 1 END, r.id DESC LIMIT 1

-- name: lock_key
-- Nothing to do on SQLite: there is one writer.
SELECT 1

-- name: set_policy
UPDATE runs SET policy = :policy WHERE workspace_id = :workspace AND id = :id

-- name: set_model
UPDATE runs SET model = :model WHERE workspace_id = :workspace AND id = :id

-- name: get_run
SELECT id, recipe, model, policy, state, task_limit, cancel_asked_at, early_judged_at, created_at, ended_at,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = runs.id), started_by
FROM runs WHERE workspace_id = :workspace AND id = :id

-- name: list_runs
-- The newest runs; those that drafted a schema, about a document of their own, where they are asked for.
SELECT id, recipe, model, policy, state, task_limit, cancel_asked_at, early_judged_at, created_at, ended_at,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = runs.id), started_by
FROM runs WHERE workspace_id = :workspace AND (:drafts = 1 OR NOT EXISTS (SELECT 1 FROM run_documents rd JOIN documents d ON d.id = rd.document_id
    WHERE rd.run_id = runs.id AND rd.ordinal = 0 AND d.source_type = 'draft' AND d.aside = 1))
ORDER BY id DESC LIMIT :limit

-- name: list_whole_runs
-- The newest runs about whole documents; those over a sample are parts of a probe.
SELECT id, recipe, model, policy, state, task_limit, cancel_asked_at, early_judged_at, created_at, ended_at,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = r.id), started_by
FROM runs r WHERE workspace_id = :workspace AND NOT EXISTS (SELECT 1 FROM run_blocks b WHERE b.run_id = r.id)
ORDER BY id DESC LIMIT :limit

-- name: count_blocks_of_documents
SELECT COALESCE(SUM(conv_total_blocks), 0) FROM documents WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: newest_run
-- The run that is meant where none is named; those over a sample are parts of a probe, those about a draft drafted a schema.
SELECT r.id FROM runs r WHERE r.workspace_id = :workspace
    AND (r.block_types <> '' OR NOT EXISTS (SELECT 1 FROM run_blocks b WHERE b.run_id = r.id))
    AND NOT EXISTS (SELECT 1 FROM run_documents rd JOIN documents d ON d.id = rd.document_id
        WHERE rd.run_id = r.id AND rd.ordinal = 0 AND d.source_type = 'draft' AND d.aside = 1)
ORDER BY r.id DESC LIMIT 1

-- name: running_wishes
-- What is wanted of every running run.
SELECT id, task_limit, CASE WHEN cancel_asked_at IS NULL THEN 0 ELSE 1 END, deadline_at, stop_after_stage,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = runs.id)
FROM runs WHERE workspace_id = :workspace AND state = 'running' ORDER BY id

-- name: wishes_of_run
SELECT id, task_limit, CASE WHEN cancel_asked_at IS NULL THEN 0 ELSE 1 END, deadline_at, stop_after_stage,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = runs.id)
FROM runs WHERE workspace_id = :workspace AND id = :id AND state = 'running'

-- name: lock_run
-- Take the run's row, so that two commands on one run happen one after the other.
UPDATE runs SET run_key = run_key WHERE workspace_id = :workspace AND id = :id

-- name: noted_progress
-- How many tasks had ended when that was last told, and when that was, or when the run began.
SELECT noted_progress, coalesce(noted_progress_at, created_at) FROM runs WHERE workspace_id = :workspace AND id = :id

-- name: note_progress
-- By compare-and-set: of several workers one tells it.
UPDATE runs SET noted_progress = :ended, noted_progress_at = :now
WHERE workspace_id = :workspace AND id = :id AND noted_progress = :before

-- name: move_run
UPDATE runs SET state = :target, ended_at = :ended_at
WHERE workspace_id = :workspace AND id IN (:ids...) AND state = :source RETURNING id

-- name: set_task_limit
UPDATE runs SET task_limit = :task_limit WHERE workspace_id = :workspace AND id = :id

-- name: set_deadline
UPDATE runs SET deadline_at = :at WHERE workspace_id = :workspace AND id = :id

-- name: set_stop_after
UPDATE runs SET stop_after_stage = :stage WHERE workspace_id = :workspace AND id = :id

-- name: ask_cancel_run
UPDATE runs SET cancel_asked_at = :at WHERE workspace_id = :workspace AND id = :id

-- name: mark_early_judged
UPDATE runs SET early_judged_at = :now WHERE workspace_id = :workspace AND id = :id AND early_judged_at IS NULL

-- name: count_run_inputs
-- Documents, all their blocks, and the sampled ones where the run is over a sample.
SELECT count(*), coalesce(CAST(sum(d.conv_total_blocks) AS INTEGER), 0),
    (SELECT count(*) FROM run_blocks rb JOIN runs r ON r.id = rb.run_id AND r.workspace_id = :workspace WHERE rb.run_id = :run)
FROM run_documents rd JOIN documents d ON d.id = rd.document_id AND d.workspace_id = :workspace
WHERE rd.run_id = :run

-- name: add_stage
INSERT INTO stages (run_id, name, state) VALUES (:run, :name, :state) RETURNING id

-- name: stages_of_run
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE run_id = :run ORDER BY id

-- name: lock_stage
-- The stage's cursor, taken for this transaction: two workers never expand the same part.
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE id = :id

-- name: take_stage
-- The same, where it is free; SQLite has one writer, so it is.
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE id = :id

-- name: move_stage
UPDATE stages SET state = :target WHERE id IN (:ids...) AND state = :source RETURNING id

-- name: set_stage_cursor
UPDATE stages SET cursor_document = :ordinal, cursor_block = :index, expanded = expanded + :added WHERE id = :id

-- name: add_hold
INSERT INTO holds (run_id, kind, detail, since, cause, fields) VALUES (:run, :kind, :detail, :now, :cause, :fields) ON CONFLICT DO NOTHING

-- name: holds_of_run
SELECT kind, detail, since, cause, fields FROM holds WHERE run_id = :run ORDER BY kind

-- name: lift_holds
DELETE FROM holds WHERE run_id = :run AND kind IN (:kinds...)

-- name: add_command
INSERT INTO commands (workspace_id, id, run_id, name, at) VALUES (:workspace, :id, :run, :name, :now)
ON CONFLICT DO NOTHING

-- name: add_event
-- Where the run is: who takes over from a dead worker may be of another workspace.
INSERT INTO events (workspace_id, run_id, at, kind, detail, fields)
VALUES (coalesce((SELECT workspace_id FROM runs WHERE id = :run), :workspace), :run, :now, :kind, :detail, :fields) RETURNING id

-- name: has_event
SELECT 1 FROM events WHERE workspace_id = :workspace AND run_id = :run AND kind = :kind LIMIT 1

-- name: events_after
-- What happened to a run after an event, the oldest first.
SELECT at, kind, detail, fields, id FROM events WHERE workspace_id = :workspace AND run_id = :run AND id > :after ORDER BY id LIMIT :limit

-- name: events_of_run
SELECT at, kind, detail, fields, id FROM events WHERE workspace_id = :workspace AND run_id = :run ORDER BY id DESC LIMIT :limit
