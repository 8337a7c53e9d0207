-- Embeddings: passages whose vectors a provider made, so that a prompt that is too large keeps what matters to it.

CREATE TABLE embeddings (
    workspace_id TEXT NOT NULL,
    passages TEXT NOT NULL,              -- fingerprint of some passages, and of who embeds them
    request_id INTEGER NOT NULL REFERENCES requests (id),  -- the call; its stored response has the vectors
    first INTEGER NOT NULL,              -- place of the first of them in that call
    PRIMARY KEY (workspace_id, passages)
) STRICT, WITHOUT ROWID;
CREATE INDEX embeddings_request ON embeddings (request_id);

CREATE TABLE embedding_tasks (
    request_id INTEGER NOT NULL REFERENCES requests (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),        -- whose prompt waits, or waited, for it
    PRIMARY KEY (request_id, task_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX embedding_tasks_task ON embedding_tasks (task_id);

ALTER TABLE lanes ADD COLUMN given_up_at INTEGER;                       -- of embeddings: since when nothing is asked there any more
ALTER TABLE compressions ADD COLUMN instead INTEGER NOT NULL DEFAULT 0; -- 1: ranked by words, because who was to rank could not
