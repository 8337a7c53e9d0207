-- Samples and probes: runs over some blocks of their documents, and what such runs showed about packing.

CREATE TABLE run_blocks (
    run_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,            -- of the document among the run's inputs
    block_index INTEGER NOT NULL,        -- only these blocks are asked about; a run without rows here is over all
    PRIMARY KEY (run_id, ordinal, block_index),
    FOREIGN KEY (run_id, ordinal) REFERENCES run_documents (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE probes (
    id INTEGER PRIMARY KEY,              -- the newest of the same question counts
    workspace_id TEXT NOT NULL,
    schema_uid TEXT NOT NULL,
    model TEXT NOT NULL,
    params TEXT NOT NULL,                -- canonical JSON
    size INTEGER NOT NULL CHECK (size >= 1),  -- blocks per call that it recommends
    report TEXT NOT NULL,                -- JSON: all that was measured, and the tolerance it was held against
    made_at INTEGER NOT NULL
) STRICT;
CREATE INDEX probes_question ON probes (workspace_id, schema_uid, model, params, id);
