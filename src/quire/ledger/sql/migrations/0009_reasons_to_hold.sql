-- Two more reasons to hold a run, each lifted by its own cure: a batch that the provider refused, a broken package.

ALTER TABLE holds RENAME TO holds_before;

CREATE TABLE holds (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (kind IN
        ('user', 'funds', 'credential', 'stop_after', 'failures', 'refused', 'plugin', 'unknown_submit', 'undecodable')),
    detail TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;

INSERT INTO holds (run_id, kind, detail, since) SELECT run_id, kind, detail, since FROM holds_before;

DROP TABLE holds_before;
