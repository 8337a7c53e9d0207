-- The spine: documents, blocks, schemas, runs and what they owe, send, receive and accept.
-- One text for both databases: on PostgreSQL INTEGER reads as BIGINT, BLOB as BYTEA, and the words after the closing
-- parenthesis (STRICT, WITHOUT ROWID) are left out. Moments are microseconds since 1970, UTC.

CREATE TABLE documents (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    source_uid TEXT NOT NULL,
    source_type TEXT NOT NULL,
    source_filesize INTEGER NOT NULL,
    source_total_characters INTEGER,
    source_locator TEXT NOT NULL,
    title TEXT NOT NULL,
    uploaded_at INTEGER NOT NULL,
    conv_uid TEXT NOT NULL,
    conv_parsing_tool TEXT NOT NULL,
    conv_representation_type TEXT NOT NULL,
    conv_total_blocks INTEGER NOT NULL,
    conv_block_type_freq TEXT NOT NULL,
    conv_total_characters INTEGER NOT NULL,
    purged_at INTEGER,
    UNIQUE (workspace_id, conv_uid)      -- ingesting again is a no-op
) STRICT;

CREATE TABLE blocks (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    block_index INTEGER NOT NULL CHECK (block_index >= 0),
    block_type TEXT NOT NULL,
    locator TEXT NOT NULL,
    headings TEXT NOT NULL,
    content TEXT NOT NULL,
    content_hash BLOB NOT NULL,          -- of type and content: what makes two questions the same
    json_bytes INTEGER NOT NULL,         -- size of the content as a JSON string: packing needs no content
    UNIQUE (document_id, block_index)
) STRICT;

CREATE TABLE schemas (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    ref TEXT NOT NULL,
    uid TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    UNIQUE (workspace_id, ref),          -- a name means one schema
    UNIQUE (workspace_id, uid)           -- and a schema has one name
) STRICT;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_key BLOB NOT NULL,               -- same recipe, model, params, policy and inputs: the same command goes on
    recipe TEXT NOT NULL,
    model TEXT NOT NULL,                 -- the model's facts and prices as they were told to this run
    policy TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'finished', 'cancelled')),
    task_limit INTEGER,                  -- a wish: expand no further than this many tasks
    cancel_asked_at INTEGER,             -- a wish
    early_judged_at INTEGER,             -- when the first tasks were looked at; once is enough
    created_at INTEGER NOT NULL,
    ended_at INTEGER,
    CHECK ((ended_at IS NULL) = (state = 'running'))
) STRICT;
CREATE INDEX runs_running ON runs (id) WHERE state = 'running';
CREATE INDEX runs_key ON runs (run_key);

CREATE TABLE run_documents (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    ordinal INTEGER NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX run_documents_document ON run_documents (document_id);

CREATE TABLE stages (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('waiting', 'expanding', 'open', 'closed')),
    cursor_document INTEGER NOT NULL DEFAULT 0,  -- expansion goes on after this document ordinal
    cursor_block INTEGER NOT NULL DEFAULT -1,    -- and this block index
    expanded INTEGER NOT NULL DEFAULT 0,         -- tasks made so far
    UNIQUE (run_id, name)
) STRICT;

CREATE TABLE holds (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (kind IN
        ('user', 'funds', 'credential', 'stop_after', 'failures', 'unknown_submit', 'undecodable')),
    detail TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE commands (
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,                    -- the caller's own name for it: the same command twice acts once
    run_id INTEGER NOT NULL REFERENCES runs (id),
    name TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE lanes (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    model TEXT NOT NULL,
    route TEXT NOT NULL CHECK (route IN ('direct', 'batch')),
    credential TEXT NOT NULL DEFAULT '',
    next_at INTEGER NOT NULL DEFAULT 0,  -- the provider asked the whole lane to wait until then
    UNIQUE (stage_id, model, route, credential)
) STRICT;
CREATE INDEX lanes_run ON lanes (run_id);

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    block_id INTEGER REFERENCES blocks (id),  -- the block it is about; NULL once that was purged
    subject_hash BLOB NOT NULL,
    question_hash BLOB NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    state TEXT NOT NULL CHECK (state IN
        ('waiting', 'ready', 'packed', 'proposed', 'done', 'blocked', 'failed', 'cancelled')),
    tries INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,         -- answered calls since the last grant
    pack_cap INTEGER NOT NULL DEFAULT 0,      -- after a split: no larger pack than this; 0 = none
    output_floor INTEGER NOT NULL DEFAULT 0,  -- after a cut-off alone: at least this much output; 0 = none
    next_kind TEXT NOT NULL DEFAULT 'answer',
    error TEXT,
    UNIQUE (stage_id, subject_hash)           -- expanding twice adds nothing
) STRICT;
CREATE INDEX tasks_ready ON tasks (stage_id, id) WHERE state = 'ready';
CREATE INDEX tasks_failed ON tasks (stage_id, id) WHERE state = 'failed';
CREATE INDEX tasks_block ON tasks (block_id);

CREATE TABLE prefixes (
    hash BLOB PRIMARY KEY,
    system TEXT NOT NULL,
    output_schema TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE requests (
    id INTEGER PRIMARY KEY,
    lane_id INTEGER NOT NULL REFERENCES lanes (id),
    kind TEXT NOT NULL CHECK (kind IN ('answer', 'repair', 'continuation', 'primer', 'embed')),
    parent_attempt_id INTEGER,
    prefix_hash BLOB NOT NULL REFERENCES prefixes (hash),
    payload_hash BLOB NOT NULL,
    render_version INTEGER NOT NULL,
    tasks INTEGER NOT NULL CHECK (tasks >= 0),
    content_bytes INTEGER NOT NULL,
    max_output INTEGER NOT NULL,
    reserve INTEGER NOT NULL,            -- what one sending may cost at most
    state TEXT NOT NULL CHECK (state IN ('queued', 'out', 'closed', 'dropped')),
    sent INTEGER NOT NULL DEFAULT 0,     -- attempts so far
    lost INTEGER NOT NULL DEFAULT 0,     -- attempts nobody knows the end of
    not_before INTEGER NOT NULL DEFAULT 0,
    body TEXT,                           -- only with ledger = full
    purged_at INTEGER
) STRICT;
CREATE INDEX requests_queued ON requests (lane_id, id) WHERE state = 'queued';
CREATE INDEX requests_closed ON requests (lane_id, id) WHERE state = 'closed';  -- what sizes are learnt from
CREATE UNIQUE INDEX requests_continuation ON requests (parent_attempt_id) WHERE kind = 'continuation';

CREATE TABLE request_tasks (
    request_id INTEGER NOT NULL REFERENCES requests (id),
    ordinal INTEGER NOT NULL,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    wire_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    verdict TEXT CHECK (verdict IN ('accept', 'retry', 'fail')),
    reasons TEXT,
    PRIMARY KEY (request_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX request_tasks_task ON request_tasks (task_id);

CREATE TABLE workers (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,                  -- machine and process namespace
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,            -- the heartbeat is the lease of all it has out
    ended_at INTEGER
) STRICT;
CREATE INDEX workers_alive ON workers (seen_at) WHERE ended_at IS NULL;

CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    nonce TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN
        ('draft', 'submitting', 'unknown', 'open', 'ended', 'collected', 'abandoned'))
) STRICT;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    request_id INTEGER NOT NULL REFERENCES requests (id),
    no INTEGER NOT NULL,
    worker_id INTEGER REFERENCES workers (id),
    batch_id INTEGER REFERENCES batches (id),
    state TEXT NOT NULL CHECK (state IN
        ('open', 'answered', 'settled', 'unknown', 'written_off', 'refused')),
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    params TEXT NOT NULL,
    sent_at INTEGER NOT NULL,
    ended_at INTEGER,
    input_tokens INTEGER,
    output_tokens INTEGER,
    cached_tokens INTEGER,
    written_short_tokens INTEGER,
    written_long_tokens INTEGER,
    reasoning_tokens INTEGER,
    reserved INTEGER NOT NULL,
    cost INTEGER,
    cost_basis TEXT CHECK (cost_basis IN ('usage', 'presumed', 'free')),
    error TEXT,
    UNIQUE (request_id, no),
    CHECK (state <> 'open' OR (worker_id IS NULL) <> (batch_id IS NULL))  -- someone answers for every open one
) STRICT;
CREATE INDEX attempts_open ON attempts (worker_id) WHERE state = 'open';
CREATE INDEX attempts_answered ON attempts (id) WHERE state = 'answered';
CREATE INDEX attempts_unknown ON attempts (ended_at) WHERE state = 'unknown';

CREATE TABLE responses (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts (id),
    stop TEXT,
    codec TEXT NOT NULL CHECK (codec IN ('plain', 'zlib')),
    decoder_version INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    raw BLOB,                            -- as it came; NULL once purged
    decoded BLOB,                        -- NULL: our decoder could not read it (yet)
    reasoning BLOB
) STRICT;

CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    reused_from INTEGER REFERENCES results (id),
    origin TEXT NOT NULL CHECK (origin IN ('model', 'person')),
    gate_version TEXT NOT NULL,
    data TEXT,                           -- NULL once purged
    review_state TEXT NOT NULL DEFAULT 'unreviewed'
        CHECK (review_state IN ('unreviewed', 'approved', 'edited', 'rejected')),
    created_at INTEGER NOT NULL,
    superseded_at INTEGER
) STRICT;
CREATE UNIQUE INDEX results_current ON results (task_id) WHERE superseded_at IS NULL;  -- at most one current

CREATE TABLE tallies (
    id INTEGER PRIMARY KEY,
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    what TEXT NOT NULL,                  -- a task state, or calls, tokens, cost…
    delta INTEGER NOT NULL
) STRICT;
CREATE INDEX tallies_stage ON tallies (stage_id);

CREATE TABLE events (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    detail TEXT NOT NULL
) STRICT;
CREATE INDEX events_run ON events (run_id, id);
