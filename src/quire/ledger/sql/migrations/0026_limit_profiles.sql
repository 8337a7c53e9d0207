-- Limits: a rate that is learnt from refusals; profiles with versions, and which a run began with.

ALTER TABLE limit_levels ADD COLUMN learnt_rate TEXT NOT NULL DEFAULT '';  -- JSON; '': nothing was refused

CREATE TABLE limit_profiles (
    workspace_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    model TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),  -- the newest is kept to
    requests INTEGER,                    -- a minute; NULL: it says nothing of that
    input INTEGER,
    output INTEGER,
    total INTEGER,
    enqueued INTEGER,                    -- tokens in batches that the provider has not worked off
    jobs INTEGER,                        -- batches that it has not worked off
    set_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, profile, model, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_limits (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    model TEXT NOT NULL,
    profile TEXT NOT NULL,
    version INTEGER NOT NULL,            -- the newest when the run began
    PRIMARY KEY (run_id, model)
) STRICT, WITHOUT ROWID;
