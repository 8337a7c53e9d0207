-- Compression: what stands in a prompt in the place of a text that is too long for it.

ALTER TABLE tasks ADD COLUMN compressing INTEGER;                       -- NULL: nothing to do; 0: its prompt is to be compressed; else the worker at it
ALTER TABLE tasks ADD COLUMN compression INTEGER NOT NULL DEFAULT 0;    -- how often that was done; the last one holds

CREATE INDEX tasks_compressing ON tasks (compressing, stage_id, model_no, id) WHERE compressing IS NOT NULL;

CREATE TABLE extracts (
    workspace_id TEXT NOT NULL,
    source BLOB NOT NULL,                 -- fingerprint of the whole text
    prompt BLOB NOT NULL,                -- fingerprint of what it was made for, and of the ranker's version
    size INTEGER NOT NULL,               -- bytes that it was to have at most
    text TEXT NOT NULL,
    PRIMARY KEY (workspace_id, prompt, source, size)
) STRICT, WITHOUT ROWID;

CREATE TABLE compressions (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    no INTEGER NOT NULL,                 -- tasks.compression, when it was done
    source BLOB NOT NULL,
    prompt BLOB NOT NULL,
    size INTEGER NOT NULL,
    name TEXT NOT NULL,                  -- where the source stands, such as documents/2
    tokens INTEGER NOT NULL,             -- of the source, as they were expected
    kept INTEGER NOT NULL,               -- tokens of its extract
    PRIMARY KEY (task_id, no, source)
) STRICT, WITHOUT ROWID;
CREATE INDEX compressions_extract ON compressions (prompt, source, size);
