-- Recipes: stages that read each other's results, critics, several models, and wishes about them.

ALTER TABLE runs ADD COLUMN stop_after_stage TEXT;                      -- a wish: no stage after this one begins
ALTER TABLE run_documents ADD COLUMN input TEXT NOT NULL DEFAULT '';    -- the recipe's name for the set it belongs to

CREATE TABLE run_models (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    no INTEGER NOT NULL CHECK (no > 0),  -- 0 is the run's own, which stands beside the run
    name TEXT NOT NULL,
    facts TEXT NOT NULL,                 -- as they were told to this run
    PRIMARY KEY (run_id, no)
) STRICT, WITHOUT ROWID;

ALTER TABLE tasks ADD COLUMN document_id INTEGER REFERENCES documents (id);  -- the document it is about, or comes from
ALTER TABLE tasks ADD COLUMN model_no INTEGER NOT NULL DEFAULT 0;       -- who is asked, of the run's models
ALTER TABLE tasks ADD COLUMN sample INTEGER NOT NULL DEFAULT 0;         -- which of several independent answers
ALTER TABLE tasks ADD COLUMN part TEXT;                                 -- what its grouping says of it, as JSON
ALTER TABLE tasks ADD COLUMN judged_result_id INTEGER REFERENCES results (id);  -- of a critic's task: what it judges
ALTER TABLE tasks ADD COLUMN stale_since INTEGER;                       -- its result used what is no longer current
ALTER TABLE tasks ADD COLUMN waived_at INTEGER;                         -- failed, and a person said: go on without it
DROP INDEX tasks_ready;
CREATE INDEX tasks_ready ON tasks (stage_id, model_no, id) WHERE state = 'ready';
CREATE INDEX tasks_waiting ON tasks (stage_id, id) WHERE state = 'waiting';
CREATE INDEX tasks_proposed ON tasks (stage_id, id) WHERE state = 'proposed';
CREATE INDEX tasks_blocked ON tasks (stage_id, id) WHERE state = 'blocked';
CREATE INDEX tasks_document ON tasks (document_id) WHERE document_id IS NOT NULL;
CREATE INDEX tasks_judging ON tasks (judged_result_id) WHERE judged_result_id IS NOT NULL;
CREATE INDEX tasks_stale ON tasks (stage_id, id) WHERE stale_since IS NOT NULL;

ALTER TABLE stages ADD COLUMN cursor_subject BLOB;                      -- expansion over results goes on with this one

CREATE TABLE task_documents (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    ordinal INTEGER NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),  -- shown with it, beside the one it is about
    PRIMARY KEY (task_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_documents_document ON task_documents (document_id);

CREATE TABLE task_inputs (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    ordinal INTEGER NOT NULL,
    input_task_id INTEGER NOT NULL REFERENCES tasks (id),
    used_result_id INTEGER REFERENCES results (id),  -- what its own current result was made from
    PRIMARY KEY (task_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX task_inputs_input ON task_inputs (input_task_id);

ALTER TABLE request_tasks ADD COLUMN used TEXT;                         -- the input results that were rendered, as JSON
