-- Webhooks: addresses that are told what happens to runs, and the outbox of what they are still to be told.
-- The outbox holds no text: what is sent is made of the event when it is sent.

CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    uid TEXT NOT NULL UNIQUE,            -- what delivery ids are made of
    url TEXT NOT NULL,
    notifications TEXT NOT NULL,         -- ',started,paused,'; '' = all of them
    run_id INTEGER REFERENCES runs (id), -- NULL: of every run
    sealed BLOB NOT NULL,                -- the secret that deliveries are signed with, encrypted as keys are
    created_at INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER,
    failures INTEGER NOT NULL DEFAULT 0, -- since the last delivery
    problem TEXT,                        -- of the last failure
    next_at INTEGER NOT NULL DEFAULT 0,  -- after a failure it is left alone until then
    lease_until INTEGER NOT NULL DEFAULT 0  -- a worker is delivering
) STRICT;

CREATE TABLE outbox (
    webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    tries INTEGER NOT NULL DEFAULT 0,
    given_up_at INTEGER,
    PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;
