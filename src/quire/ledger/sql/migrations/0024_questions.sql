-- Questions: who asks what, so that the same is asked once, in a run and from run to run.

ALTER TABLE blocks ADD COLUMN content_id INTEGER;  -- the first block that says the same, where that is another
CREATE INDEX blocks_content ON blocks (workspace_id, content_hash);
UPDATE blocks SET content_id = (
    SELECT min(f.id) FROM blocks f WHERE f.workspace_id = blocks.workspace_id AND f.content_hash = blocks.content_hash)
WHERE EXISTS (
    SELECT 1 FROM blocks f WHERE f.workspace_id = blocks.workspace_id AND f.content_hash = blocks.content_hash AND f.id < blocks.id);

ALTER TABLE tasks ADD COLUMN follows INTEGER;      -- waits for the answer of this task, which asks the same; 0: did, and looks after itself
CREATE INDEX tasks_following ON tasks (stage_id, follows) WHERE state = 'waiting' AND follows > 0;
CREATE INDEX tasks_follows ON tasks (follows) WHERE follows > 0;

-- Keys are found by numbers that grow with the blocks, so that a new run writes at one end of the table, however large
-- that is. They may collide: only tasks.question_hash says that two questions are the same. Stages and tasks are there
-- before, and stay; proving it would cost as much again.
CREATE TABLE questions (
    question INTEGER NOT NULL,           -- of the stage: the beginning of its hash
    content INTEGER NOT NULL,            -- a block's content, or the beginning of a rendered text's hash
    stage_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,            -- who asks it in this stage
    PRIMARY KEY (question, content, stage_id)
) STRICT, WITHOUT ROWID;
