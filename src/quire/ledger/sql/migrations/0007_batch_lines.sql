-- Lines of a batch's results that nobody could read: somebody may have paid for them, so that they are kept.

ALTER TABLE batches ADD COLUMN unread INTEGER NOT NULL DEFAULT 0;      -- lines that nobody could read

CREATE TABLE batch_lines (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    digest BLOB NOT NULL,                -- of the line, so that a result that is read again adds nothing
    line BLOB NOT NULL,                  -- as it came; those that name a call of ours are that call's response instead
    kept_at INTEGER NOT NULL,
    PRIMARY KEY (batch_id, digest)
) STRICT, WITHOUT ROWID;
