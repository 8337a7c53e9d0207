-- Pieces: answers that are not whole, each gone on with by another call.

CREATE TABLE pieces (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,            -- of the task: one chain for each
    no INTEGER NOT NULL CHECK (no >= 0), -- 0 is the first answer
    attempt_id INTEGER NOT NULL UNIQUE REFERENCES attempts (id),
    reason TEXT NOT NULL CHECK (reason IN ('length', 'unfinished', 'declared', 'missing')),
    missing TEXT,                        -- JSON: the names of the fields
    PRIMARY KEY (task_id, version, no)
) STRICT, WITHOUT ROWID;

-- Only one call at a time goes on with an attempt. One that failed, or is past its deadline, may be followed by another.
DROP INDEX requests_continuation;
CREATE UNIQUE INDEX requests_continuation ON requests (parent_attempt_id)
    WHERE kind = 'continuation' AND state IN ('queued', 'out') AND late = 0;
CREATE INDEX requests_assembled ON requests (lane_id, id) WHERE kind = 'continuation' AND state = 'closed';  -- what sizes are learnt from
