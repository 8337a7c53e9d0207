-- What a person must mend: three more kinds of hold, which were told as if they were about keys; and keys that were tried.

ALTER TABLE credentials ADD COLUMN accepted_at INTEGER;                 -- when its provider last said that it is good

ALTER TABLE holds RENAME TO holds_before;

CREATE TABLE holds (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (kind IN ('user', 'funds', 'credential', 'stop_after', 'failures', 'refused', 'plugin',
        'unknown_submit', 'undecodable', 'address', 'model', 'form')),
    detail TEXT NOT NULL,
    since INTEGER NOT NULL,
    cause TEXT,                          -- NULL: written by an older version
    fields TEXT NOT NULL DEFAULT '{}',   -- what `detail` was made from, as JSON
    PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO holds (run_id, kind, detail, since, cause, fields) SELECT run_id, kind, detail, since, cause, fields FROM holds_before;

DROP TABLE holds_before;
