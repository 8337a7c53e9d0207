-- Batches: calls handed to a provider many at once. Until now the table was only a name for attempts to refer to.

ALTER TABLE batches ADD COLUMN workspace_id TEXT NOT NULL DEFAULT 'local';
ALTER TABLE batches ADD COLUMN lane_id INTEGER REFERENCES lanes (id);
ALTER TABLE batches ADD COLUMN credential_id INTEGER REFERENCES credentials (id);  -- who made it; only they may ask for it
ALTER TABLE batches ADD COLUMN calls INTEGER NOT NULL DEFAULT 0;       -- in it, as drafted or sent
ALTER TABLE batches ADD COLUMN tokens INTEGER NOT NULL DEFAULT 0;      -- the most that they may send
ALTER TABLE batches ADD COLUMN size INTEGER NOT NULL DEFAULT 0;        -- bytes, as drafted or sent
ALTER TABLE batches ADD COLUMN input_ref TEXT NOT NULL DEFAULT '';     -- where the provider has the calls
ALTER TABLE batches ADD COLUMN ref TEXT NOT NULL DEFAULT '';           -- the provider's name for it
ALTER TABLE batches ADD COLUMN end_reason TEXT CHECK (end_reason IN ('completed', 'failed', 'expired', 'cancelled', 'queue_full'));
ALTER TABLE batches ADD COLUMN counts TEXT NOT NULL DEFAULT '{}';      -- the provider's, for display only
ALTER TABLE batches ADD COLUMN problem TEXT NOT NULL DEFAULT '';       -- what was last said to be wrong
ALTER TABLE batches ADD COLUMN duplicates INTEGER NOT NULL DEFAULT 0;  -- rows that came twice
ALTER TABLE batches ADD COLUMN strangers INTEGER NOT NULL DEFAULT 0;   -- rows that nobody asked for
ALTER TABLE batches ADD COLUMN missing INTEGER NOT NULL DEFAULT 0;     -- calls without a row
ALTER TABLE batches ADD COLUMN failures INTEGER NOT NULL DEFAULT 0;    -- in a row, of asking the provider: the back-off
ALTER TABLE batches ADD COLUMN created_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE batches ADD COLUMN creating_at INTEGER;                    -- from then on the provider may have it
ALTER TABLE batches ADD COLUMN submitted_at INTEGER;                   -- since then it is known to have it
ALTER TABLE batches ADD COLUMN ended_at INTEGER;
ALTER TABLE batches ADD COLUMN collected_at INTEGER;
ALTER TABLE batches ADD COLUMN next_at INTEGER NOT NULL DEFAULT 0;     -- when the next thing is to be done about it
ALTER TABLE batches ADD COLUMN lease_until INTEGER NOT NULL DEFAULT 0; -- somebody does it now
ALTER TABLE batches ADD COLUMN lease_by INTEGER;
ALTER TABLE batches ADD COLUMN cancel_asked_at INTEGER;                -- a wish
ALTER TABLE batches ADD COLUMN cancel_sent_at INTEGER;
CREATE INDEX batches_due ON batches (next_at) WHERE state <> 'collected' AND state <> 'abandoned';
CREATE INDEX batches_lane ON batches (lane_id);
CREATE UNIQUE INDEX batches_unacknowledged ON batches (workspace_id, credential_id)
    WHERE state = 'submitting' OR state = 'unknown';                   -- one create at a time, so that it can be found again

CREATE TABLE batch_nonces (
    nonce TEXT PRIMARY KEY,              -- every name that a batch was ever submitted under: late rows still find home
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX batch_nonces_batch ON batch_nonces (batch_id);

CREATE INDEX attempts_batch ON attempts (batch_id, id) WHERE batch_id IS NOT NULL;
ALTER TABLE lanes ADD COLUMN serves INTEGER NOT NULL DEFAULT 1;        -- new packs go here, not to the stage's other lane
ALTER TABLE requests ADD COLUMN late INTEGER NOT NULL DEFAULT 0;       -- past the deadline: its tasks may go out elsewhere
ALTER TABLE runs ADD COLUMN deadline_at INTEGER;                        -- what batches then still owe goes direct
