-- What all workers share about a provider's limits and its prompt cache.

CREATE TABLE limit_levels (
    workspace_id TEXT NOT NULL,
    model TEXT NOT NULL,
    credential_id INTEGER NOT NULL,      -- 0: no key was needed
    at INTEGER NOT NULL,                 -- when the levels were so
    requests INTEGER NOT NULL,           -- what is left of each limit, in thousandths; negative is a debt
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    total INTEGER NOT NULL,
    most_requests INTEGER,               -- a minute, as the provider's headers said; NULL: they did not
    most_input INTEGER,
    most_output INTEGER,
    most_total INTEGER,
    PRIMARY KEY (workspace_id, model, credential_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE prefix_caches (
    workspace_id TEXT NOT NULL,
    prefix_hash BLOB NOT NULL,
    model TEXT NOT NULL,
    credential_id INTEGER NOT NULL,      -- 0: no key was needed
    primed_at INTEGER NOT NULL,          -- when an answer last showed that the provider has it; 0: never
    priming_until INTEGER NOT NULL,      -- somebody writes it now, and the others wait until then at most
    PRIMARY KEY (workspace_id, prefix_hash, model, credential_id)
) STRICT, WITHOUT ROWID;
