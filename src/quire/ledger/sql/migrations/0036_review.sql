-- Review: what persons decide, one row a decision, never changed; which results want a person, in the order of need;
-- who is at which; and audits, which mark a random sample of results and change none.

CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    move TEXT NOT NULL CHECK (move IN ('approve', 'edit', 'reject', 'undo')),
    who TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    before_result_id INTEGER REFERENCES results (id),
    after_result_id INTEGER REFERENCES results (id),  -- NULL: it is asked again
    before_data TEXT,                                  -- JSON; NULL: there was none, or it was purged
    after_data TEXT,
    before_review TEXT NOT NULL,                       -- how the result stood, with who had said so, and when
    before_reviewer TEXT,
    before_reviewed_at INTEGER,
    before_task TEXT,                                  -- how the task stood, as JSON
    undoes INTEGER REFERENCES reviews (id),
    command TEXT,
    CHECK ((undoes IS NOT NULL) = (move = 'undo'))
) STRICT;

CREATE INDEX reviews_task ON reviews (task_id, id);
CREATE INDEX reviews_run ON reviews (run_id, id);
CREATE UNIQUE INDEX reviews_undone ON reviews (undoes) WHERE undoes IS NOT NULL;  -- a decision is taken back once

CREATE TABLE review_leases (
    task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    who TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

CREATE INDEX review_leases_run ON review_leases (run_id);

ALTER TABLE results ADD COLUMN stage_id INTEGER;                          -- of its task
ALTER TABLE results ADD COLUMN review_rank INTEGER;                       -- of its first reason; NULL: nobody decides about it yet
ALTER TABLE results ADD COLUMN review_reasons INTEGER NOT NULL DEFAULT 0; -- a bit for each
ALTER TABLE results ADD COLUMN critic_score INTEGER;                      -- the lowest, in thousandths

UPDATE results SET stage_id = (SELECT t.stage_id FROM tasks t WHERE t.id = results.task_id);

UPDATE results SET review_reasons = (
    SELECT CASE WHEN t.state = 'failed' AND t.error_kind IN ('critic_objected', 'critic_undecidable', 'critic_failed') THEN 1 ELSE 0 END
        + CASE WHEN t.tries > 0 THEN 4 ELSE 0 END + CASE WHEN t.stale_since IS NULL THEN 0 ELSE 32 END
    FROM tasks t WHERE t.id = results.task_id)
WHERE superseded_at IS NULL;

UPDATE results SET review_rank = CASE WHEN review_reasons % 2 = 1 THEN 0 WHEN review_reasons % 32 >= 4 THEN 2 WHEN review_reasons >= 32 THEN 5 ELSE 6 END
WHERE superseded_at IS NULL AND task_id IN (SELECT t.id FROM tasks t WHERE t.judged_result_id IS NULL AND t.state <> 'proposed');

CREATE INDEX results_inbox ON results (stage_id, review_state, review_rank, id) WHERE superseded_at IS NULL AND review_rank IS NOT NULL;

CREATE INDEX results_superseded ON results (task_id) WHERE superseded_at IS NOT NULL;  -- earlier versions

INSERT INTO reviews (workspace_id, run_id, stage_id, task_id, move, who, at, before_result_id, after_result_id, before_data, after_data, before_review)
SELECT t.workspace_id, t.run_id, t.stage_id, t.id,
    CASE r.review_state WHEN 'approved' THEN 'approve' WHEN 'edited' THEN 'edit' ELSE 'reject' END,
    coalesce(r.reviewer, 'somebody'), coalesce(r.reviewed_at, r.created_at),
    CASE WHEN r.review_state = 'edited' THEN (SELECT max(b.id) FROM results b WHERE b.task_id = r.task_id AND b.superseded_at IS NOT NULL AND b.id < r.id) ELSE r.id END,
    CASE WHEN r.review_state = 'rejected' THEN NULL ELSE r.id END,
    CASE WHEN r.review_state = 'edited' THEN (SELECT b.data FROM results b WHERE b.task_id = r.task_id AND b.superseded_at IS NOT NULL AND b.id < r.id ORDER BY b.id DESC LIMIT 1) ELSE r.data END,
    CASE WHEN r.review_state = 'rejected' THEN NULL ELSE r.data END, 'unreviewed'
FROM results r JOIN tasks t ON t.id = r.task_id WHERE r.review_state <> 'unreviewed' AND r.reused_from IS NULL ORDER BY r.id;

CREATE TABLE audits (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    size INTEGER NOT NULL CHECK (size > 0),
    population INTEGER NOT NULL,
    tolerance INTEGER NOT NULL,  -- in millionths
    seed INTEGER NOT NULL,
    who TEXT NOT NULL,
    started_at INTEGER NOT NULL
) STRICT;

CREATE INDEX audits_run ON audits (run_id, id);

CREATE TABLE audit_items (
    audit_id INTEGER NOT NULL REFERENCES audits (id),
    no INTEGER NOT NULL,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    result_id INTEGER NOT NULL REFERENCES results (id),
    marked_at INTEGER,
    PRIMARY KEY (audit_id, no)
) STRICT, WITHOUT ROWID;

CREATE TABLE audit_marks (
    audit_id INTEGER NOT NULL REFERENCES audits (id),
    no INTEGER NOT NULL,
    field TEXT NOT NULL,
    mark TEXT NOT NULL CHECK (mark IN ('right', 'wrong', 'unsure')),
    who TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (audit_id, no, field)
) STRICT, WITHOUT ROWID;
