-- Wallets: money that runs may spend, what each run was given of it, and which part of that its workers use.

CREATE TABLE wallets (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    balance INTEGER NOT NULL DEFAULT 0,  -- the sum of its entries; below 0: what was in flight cost more
    created_at INTEGER NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;

CREATE TABLE wallet_entries (            -- append-only
    id INTEGER PRIMARY KEY,
    wallet_id INTEGER NOT NULL REFERENCES wallets (id),
    key TEXT NOT NULL,                   -- of whoever makes the entry: the same key twice is one entry
    kind TEXT NOT NULL CHECK (kind IN ('credit', 'transfer', 'slice', 'return', 'correction')),
    amount INTEGER NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    at INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    UNIQUE (wallet_id, key)
) STRICT;

CREATE TABLE run_funds (                 -- only of runs that name a wallet or a budget
    run_id INTEGER PRIMARY KEY REFERENCES runs (id),
    wallet_id INTEGER REFERENCES wallets (id),
    budget INTEGER CHECK (budget >= 0),
    granted INTEGER NOT NULL DEFAULT 0,  -- the sum of its slices
    joined_at INTEGER,                   -- when it was given a budget in the midst of its work
    CHECK (wallet_id IS NOT NULL OR budget IS NOT NULL)
) STRICT;
CREATE INDEX run_funds_of_wallet ON run_funds (wallet_id);

CREATE TABLE slices (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run_funds (run_id),
    worker_id INTEGER NOT NULL,          -- 0: all batches of the run
    no INTEGER NOT NULL DEFAULT 0,       -- of its entries, for their keys
    granted INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,     -- by its attempts: what is reserved for each, or what it cost
    ended INTEGER NOT NULL DEFAULT 0 CHECK (ended IN (0, 1)),  -- nobody claims from it: what is free goes back
    UNIQUE (run_id, worker_id)
) STRICT;
CREATE INDEX slices_of_workers ON slices (worker_id) WHERE ended = 0;

ALTER TABLE attempts ADD COLUMN slice_id INTEGER REFERENCES slices (id);  -- NULL: nothing bounds what its run spends
