-- All tables of a new SQLite ledger. The migrations make the same, one after the other, which takes
-- six times as long. Written by `make docs`, and compared with them by a test: never edited.
-- version: 46

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
    purged_at INTEGER, aside INTEGER NOT NULL DEFAULT 0, result_id INTEGER REFERENCES results (id),
    UNIQUE (workspace_id, conv_uid)
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
    content_hash BLOB NOT NULL,
    json_bytes INTEGER NOT NULL, content_id INTEGER,
    UNIQUE (document_id, block_index)
) STRICT;

CREATE TABLE runs (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_key BLOB NOT NULL,
    recipe TEXT NOT NULL,
    model TEXT NOT NULL,
    policy TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'running' OR state = 'finished' OR state = 'cancelled'),
    task_limit INTEGER,
    cancel_asked_at INTEGER,
    early_judged_at INTEGER,
    created_at INTEGER NOT NULL,
    ended_at INTEGER, deadline_at INTEGER, stop_after_stage TEXT, noted_progress INTEGER NOT NULL DEFAULT 0, noted_progress_at INTEGER, block_types TEXT NOT NULL DEFAULT '', started_by TEXT NOT NULL DEFAULT '',
    CHECK ((ended_at IS NULL) = (state = 'running'))
) STRICT;

CREATE INDEX runs_running ON runs (id) WHERE state = 'running';

CREATE INDEX runs_key ON runs (run_key);

CREATE TABLE run_documents (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    ordinal INTEGER NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id), input TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX run_documents_document ON run_documents (document_id);

CREATE TABLE stages (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'expanding' OR state = 'open' OR state = 'closed'),
    cursor_document INTEGER NOT NULL DEFAULT 0,
    cursor_block INTEGER NOT NULL DEFAULT -1,
    expanded INTEGER NOT NULL DEFAULT 0, cursor_subject BLOB,
    UNIQUE (run_id, name)
) STRICT;

CREATE TABLE commands (
    workspace_id TEXT NOT NULL,
    id TEXT NOT NULL,
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
    route TEXT NOT NULL CHECK (route = 'direct' OR route = 'batch'),
    credential TEXT NOT NULL DEFAULT '',
    next_at INTEGER NOT NULL DEFAULT 0, serves INTEGER NOT NULL DEFAULT 1, given_up_at INTEGER,
    UNIQUE (stage_id, model, route, credential)
) STRICT;

CREATE INDEX lanes_run ON lanes (run_id);

CREATE TABLE tasks (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    block_id INTEGER REFERENCES blocks (id),
    subject_hash BLOB NOT NULL,
    question_hash BLOB NOT NULL,
    version INTEGER NOT NULL DEFAULT 1,
    state TEXT NOT NULL CHECK (state = 'waiting' OR state = 'ready' OR state = 'packed' OR state = 'proposed' OR state = 'done' OR state = 'blocked' OR state = 'failed' OR state = 'cancelled'),
    tries INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    pack_cap INTEGER NOT NULL DEFAULT 0,
    output_floor INTEGER NOT NULL DEFAULT 0,
    next_kind TEXT NOT NULL DEFAULT 'answer',
    error TEXT, document_id INTEGER REFERENCES documents (id), model_no INTEGER NOT NULL DEFAULT 0, sample INTEGER NOT NULL DEFAULT 0, part TEXT, judged_result_id INTEGER REFERENCES results (id), stale_since INTEGER, waived_at INTEGER, error_kind TEXT, error_stage TEXT, error_task INTEGER, origin_id INTEGER, group_id INTEGER, compressing INTEGER, compression INTEGER NOT NULL DEFAULT 0, follows INTEGER,
    UNIQUE (stage_id, subject_hash)
) STRICT;

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
    kind TEXT NOT NULL CHECK (kind = 'answer' OR kind = 'repair' OR kind = 'continuation' OR kind = 'primer' OR kind = 'embed'),
    parent_attempt_id INTEGER,
    prefix_hash BLOB NOT NULL REFERENCES prefixes (hash),
    payload_hash BLOB NOT NULL,
    render_version INTEGER NOT NULL,
    tasks INTEGER NOT NULL CHECK (tasks >= 0),
    content_bytes INTEGER NOT NULL,
    max_output INTEGER NOT NULL,
    reserve INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state = 'queued' OR state = 'out' OR state = 'closed' OR state = 'dropped'),
    sent INTEGER NOT NULL DEFAULT 0,
    lost INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    body TEXT,
    purged_at INTEGER
, late INTEGER NOT NULL DEFAULT 0, stray_ids TEXT, most_input INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE INDEX requests_queued ON requests (lane_id, id) WHERE state = 'queued';

CREATE INDEX requests_closed ON requests (lane_id, id) WHERE state = 'closed';

CREATE TABLE request_tasks (
    request_id INTEGER NOT NULL REFERENCES requests (id),
    ordinal INTEGER NOT NULL,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    wire_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    verdict TEXT CHECK (verdict = 'accept' OR verdict = 'retry' OR verdict = 'fail'),
    reasons TEXT, used TEXT, gate_version TEXT,
    PRIMARY KEY (request_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX request_tasks_task ON request_tasks (task_id);

CREATE TABLE workers (
    id INTEGER PRIMARY KEY,
    host TEXT NOT NULL,
    pid INTEGER NOT NULL,
    version TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    seen_at INTEGER NOT NULL,
    ended_at INTEGER
, run_id INTEGER REFERENCES runs (id), workspace_id TEXT) STRICT;

CREATE INDEX workers_alive ON workers (seen_at) WHERE ended_at IS NULL;

CREATE TABLE batches (
    id INTEGER PRIMARY KEY,
    nonce TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state = 'draft' OR state = 'submitting' OR state = 'unknown' OR state = 'open' OR state = 'ended' OR state = 'collected' OR state = 'abandoned')
, workspace_id TEXT NOT NULL DEFAULT 'local', lane_id INTEGER REFERENCES lanes (id), credential_id INTEGER REFERENCES credentials (id), calls INTEGER NOT NULL DEFAULT 0, tokens INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL DEFAULT 0, input_ref TEXT NOT NULL DEFAULT '', ref TEXT NOT NULL DEFAULT '', end_reason TEXT CHECK (end_reason = 'completed' OR end_reason = 'failed' OR end_reason = 'expired' OR end_reason = 'cancelled' OR end_reason = 'queue_full'), counts TEXT NOT NULL DEFAULT '{}', problem TEXT NOT NULL DEFAULT '', duplicates INTEGER NOT NULL DEFAULT 0, strangers INTEGER NOT NULL DEFAULT 0, missing INTEGER NOT NULL DEFAULT 0, failures INTEGER NOT NULL DEFAULT 0, created_at INTEGER NOT NULL DEFAULT 0, creating_at INTEGER, submitted_at INTEGER, ended_at INTEGER, collected_at INTEGER, next_at INTEGER NOT NULL DEFAULT 0, lease_until INTEGER NOT NULL DEFAULT 0, lease_by INTEGER, cancel_asked_at INTEGER, cancel_sent_at INTEGER, unread INTEGER NOT NULL DEFAULT 0, absent_at INTEGER, duplicate_found_at INTEGER, trouble TEXT NOT NULL DEFAULT 'none') STRICT;

CREATE TABLE attempts (
    id INTEGER PRIMARY KEY,
    request_id INTEGER NOT NULL REFERENCES requests (id),
    no INTEGER NOT NULL,
    worker_id INTEGER REFERENCES workers (id),
    batch_id INTEGER REFERENCES batches (id),
    state TEXT NOT NULL CHECK (state = 'open' OR state = 'answered' OR state = 'settled' OR state = 'unknown' OR state = 'written_off' OR state = 'refused'),
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
    cost_basis TEXT CHECK (cost_basis = 'usage' OR cost_basis = 'presumed' OR cost_basis = 'free'),
    error TEXT, credential_id INTEGER REFERENCES credentials (id), slice_id INTEGER REFERENCES slices (id),
    UNIQUE (request_id, no),
    CHECK (state <> 'open' OR (worker_id IS NULL) <> (batch_id IS NULL))
) STRICT;

CREATE INDEX attempts_open ON attempts (worker_id) WHERE state = 'open';

CREATE INDEX attempts_answered ON attempts (id) WHERE state = 'answered';

CREATE INDEX attempts_unknown ON attempts (ended_at) WHERE state = 'unknown';

CREATE TABLE responses (
    attempt_id INTEGER PRIMARY KEY REFERENCES attempts (id),
    stop TEXT,
    codec TEXT NOT NULL CHECK (codec = 'plain' OR codec = 'zlib'),
    decoder_version INTEGER NOT NULL,
    stored_at INTEGER NOT NULL,
    raw BLOB,
    decoded BLOB,
    reasoning BLOB
) STRICT;

CREATE TABLE results (
    id INTEGER PRIMARY KEY,
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    attempt_id INTEGER REFERENCES attempts (id),
    reused_from INTEGER REFERENCES results (id),
    origin TEXT NOT NULL CHECK (origin = 'model' OR origin = 'person'),
    gate_version TEXT NOT NULL,
    data TEXT,
    review_state TEXT NOT NULL DEFAULT 'unreviewed'
        CHECK (review_state = 'unreviewed' OR review_state = 'approved' OR review_state = 'edited' OR review_state = 'rejected'),
    created_at INTEGER NOT NULL,
    superseded_at INTEGER
, notes TEXT, reviewer TEXT, reviewed_at INTEGER, stage_id INTEGER, review_rank INTEGER, review_reasons INTEGER NOT NULL DEFAULT 0, critic_score INTEGER) STRICT;

CREATE UNIQUE INDEX results_current ON results (task_id) WHERE superseded_at IS NULL;

CREATE TABLE tallies (
    id INTEGER PRIMARY KEY,
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    what TEXT NOT NULL,
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
, fields TEXT NOT NULL DEFAULT '{}') STRICT;

CREATE INDEX events_run ON events (run_id, id);

CREATE TABLE credentials (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    name TEXT NOT NULL,
    source TEXT NOT NULL CHECK (source = 'stored' OR source = 'file' OR source = 'environment'),
    tail TEXT NOT NULL,
    digest BLOB NOT NULL,
    sealed BLOB,
    state TEXT NOT NULL CHECK (state = 'valid' OR state = 'invalid' OR state = 'spent'),
    reason TEXT,
    marked_at INTEGER,
    created_at INTEGER NOT NULL,
    removed_at INTEGER, accepted_at INTEGER, person TEXT NOT NULL DEFAULT '',
    UNIQUE (workspace_id, provider, source, name, digest),
    CHECK ((sealed IS NOT NULL) = (source = 'stored' AND removed_at IS NULL)),
    CHECK ((state = 'valid') = (reason IS NULL)),
    CHECK ((state = 'valid') = (marked_at IS NULL))
) STRICT;

CREATE TABLE limit_levels (
    workspace_id TEXT NOT NULL,
    model TEXT NOT NULL,
    credential_id INTEGER NOT NULL,
    at INTEGER NOT NULL,
    requests INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    total INTEGER NOT NULL,
    most_requests INTEGER,
    most_input INTEGER,
    most_output INTEGER,
    most_total INTEGER, learnt_at INTEGER NOT NULL DEFAULT 0, learnt_rate TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (workspace_id, model, credential_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE prefix_caches (
    workspace_id TEXT NOT NULL,
    prefix_hash BLOB NOT NULL,
    model TEXT NOT NULL,
    credential_id INTEGER NOT NULL,
    primed_at INTEGER NOT NULL,
    priming_until INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, prefix_hash, model, credential_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_blocks (
    run_id INTEGER NOT NULL,
    ordinal INTEGER NOT NULL,
    block_index INTEGER NOT NULL,
    PRIMARY KEY (run_id, ordinal, block_index),
    FOREIGN KEY (run_id, ordinal) REFERENCES run_documents (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE probes (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    schema_uid TEXT NOT NULL,
    model TEXT NOT NULL,
    params TEXT NOT NULL,
    size INTEGER NOT NULL CHECK (size >= 1),
    report TEXT NOT NULL,
    made_at INTEGER NOT NULL
) STRICT;

CREATE INDEX probes_question ON probes (workspace_id, schema_uid, model, params, id);

CREATE INDEX batches_due ON batches (next_at) WHERE state <> 'collected' AND state <> 'abandoned';

CREATE INDEX batches_lane ON batches (lane_id);

CREATE UNIQUE INDEX batches_unacknowledged ON batches (workspace_id, credential_id)
    WHERE state = 'submitting' OR state = 'unknown';

CREATE TABLE batch_nonces (
    nonce TEXT PRIMARY KEY,
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    made_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX batch_nonces_batch ON batch_nonces (batch_id);

CREATE INDEX attempts_batch ON attempts (batch_id, id) WHERE batch_id IS NOT NULL;

CREATE TABLE run_models (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    no INTEGER NOT NULL CHECK (no > 0),
    name TEXT NOT NULL,
    facts TEXT NOT NULL,
    PRIMARY KEY (run_id, no)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_ready ON tasks (stage_id, model_no, id) WHERE state = 'ready';

CREATE INDEX tasks_waiting ON tasks (stage_id, id) WHERE state = 'waiting';

CREATE INDEX tasks_proposed ON tasks (stage_id, id) WHERE state = 'proposed';

CREATE INDEX tasks_blocked ON tasks (stage_id, id) WHERE state = 'blocked';

CREATE INDEX tasks_document ON tasks (document_id) WHERE document_id IS NOT NULL;

CREATE INDEX tasks_judging ON tasks (judged_result_id) WHERE judged_result_id IS NOT NULL;

CREATE INDEX tasks_stale ON tasks (stage_id, id) WHERE stale_since IS NOT NULL;

CREATE TABLE task_documents (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    ordinal INTEGER NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    PRIMARY KEY (task_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_documents_document ON task_documents (document_id);

CREATE TABLE task_inputs (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    ordinal INTEGER NOT NULL,
    input_task_id INTEGER NOT NULL REFERENCES tasks (id),
    used_result_id INTEGER REFERENCES results (id),
    PRIMARY KEY (task_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE INDEX task_inputs_input ON task_inputs (input_task_id);

CREATE TABLE batch_lines (
    batch_id INTEGER NOT NULL REFERENCES batches (id),
    digest BLOB NOT NULL,
    line BLOB NOT NULL,
    kept_at INTEGER NOT NULL,
    PRIMARY KEY (batch_id, digest)
) STRICT, WITHOUT ROWID;

CREATE TABLE holds (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    kind TEXT NOT NULL CHECK (kind = 'user' OR kind = 'funds' OR kind = 'credential' OR kind = 'stop_after' OR kind = 'failures' OR kind = 'refused' OR kind = 'plugin' OR kind = 'unknown_submit' OR kind = 'undecodable' OR kind = 'address' OR kind = 'model' OR kind = 'form'),
    detail TEXT NOT NULL,
    since INTEGER NOT NULL,
    cause TEXT,
    fields TEXT NOT NULL DEFAULT '{}',
    PRIMARY KEY (run_id, kind)
) STRICT, WITHOUT ROWID;

CREATE TABLE fallbacks (
    workspace_id TEXT NOT NULL,
    model TEXT NOT NULL,
    address TEXT NOT NULL,
    part TEXT NOT NULL,
    way TEXT NOT NULL,
    problem TEXT NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, model, address, part)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX documents_result ON documents (result_id) WHERE result_id IS NOT NULL AND purged_at IS NULL;

CREATE INDEX tasks_origin ON tasks (stage_id, origin_id) WHERE origin_id IS NOT NULL;

CREATE INDEX tasks_group ON tasks (stage_id, group_id) WHERE group_id IS NOT NULL;

CREATE TABLE webhooks (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    uid TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,
    notifications TEXT NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    sealed BLOB NOT NULL,
    created_at INTEGER NOT NULL,
    delivered INTEGER NOT NULL DEFAULT 0,
    delivered_at INTEGER,
    failures INTEGER NOT NULL DEFAULT 0,
    problem TEXT,
    next_at INTEGER NOT NULL DEFAULT 0,
    lease_until INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE outbox (
    webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
    event_id INTEGER NOT NULL REFERENCES events (id),
    tries INTEGER NOT NULL DEFAULT 0,
    given_up_at INTEGER,
    PRIMARY KEY (webhook_id, event_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX tasks_compressing ON tasks (compressing, stage_id, model_no, id) WHERE compressing IS NOT NULL;

CREATE TABLE extracts (
    workspace_id TEXT NOT NULL,
    source BLOB NOT NULL,
    prompt BLOB NOT NULL,
    size INTEGER NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (workspace_id, prompt, source, size)
) STRICT, WITHOUT ROWID;

CREATE TABLE compressions (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    no INTEGER NOT NULL,
    source BLOB NOT NULL,
    prompt BLOB NOT NULL,
    size INTEGER NOT NULL,
    name TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    kept INTEGER NOT NULL, instead INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (task_id, no, source)
) STRICT, WITHOUT ROWID;

CREATE INDEX compressions_extract ON compressions (prompt, source, size);

CREATE TABLE pieces (
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    version INTEGER NOT NULL,
    no INTEGER NOT NULL CHECK (no >= 0),
    attempt_id INTEGER NOT NULL UNIQUE REFERENCES attempts (id),
    reason TEXT NOT NULL CHECK (reason = 'length' OR reason = 'unfinished' OR reason = 'declared' OR reason = 'missing'),
    missing TEXT,
    PRIMARY KEY (task_id, version, no)
) STRICT, WITHOUT ROWID;

CREATE UNIQUE INDEX requests_continuation ON requests (parent_attempt_id)
    WHERE kind = 'continuation' AND state IN ('queued', 'out') AND late = 0;

CREATE INDEX requests_assembled ON requests (lane_id, id) WHERE kind = 'continuation' AND state = 'closed';

CREATE TABLE wallets (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    balance INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    UNIQUE (workspace_id, name)
) STRICT;

CREATE TABLE wallet_entries (
    id INTEGER PRIMARY KEY,
    wallet_id INTEGER NOT NULL REFERENCES wallets (id),
    key TEXT NOT NULL,
    kind TEXT NOT NULL CHECK (kind = 'credit' OR kind = 'transfer' OR kind = 'slice' OR kind = 'return' OR kind = 'correction'),
    amount INTEGER NOT NULL,
    run_id INTEGER REFERENCES runs (id),
    at INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    UNIQUE (wallet_id, key)
) STRICT;

CREATE TABLE run_funds (
    run_id INTEGER PRIMARY KEY REFERENCES runs (id),
    wallet_id INTEGER REFERENCES wallets (id),
    budget INTEGER CHECK (budget >= 0),
    granted INTEGER NOT NULL DEFAULT 0,
    joined_at INTEGER,
    CHECK (wallet_id IS NOT NULL OR budget IS NOT NULL)
) STRICT;

CREATE INDEX run_funds_of_wallet ON run_funds (wallet_id);

CREATE TABLE slices (
    id INTEGER PRIMARY KEY,
    run_id INTEGER NOT NULL REFERENCES run_funds (run_id),
    worker_id INTEGER NOT NULL,
    no INTEGER NOT NULL DEFAULT 0,
    granted INTEGER NOT NULL DEFAULT 0,
    used INTEGER NOT NULL DEFAULT 0,
    ended INTEGER NOT NULL DEFAULT 0 CHECK (ended = 0 OR ended = 1),
    UNIQUE (run_id, worker_id)
) STRICT;

CREATE INDEX slices_of_workers ON slices (worker_id) WHERE ended = 0;

CREATE INDEX tasks_following ON tasks (stage_id, follows) WHERE state = 'waiting' AND follows > 0;

CREATE INDEX tasks_follows ON tasks (follows) WHERE follows > 0;

CREATE TABLE questions (
    question INTEGER NOT NULL,
    content INTEGER NOT NULL,
    stage_id INTEGER NOT NULL,
    task_id INTEGER NOT NULL,
    PRIMARY KEY (question, content, stage_id)
) STRICT, WITHOUT ROWID;

CREATE TABLE stage_forecasts (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    ordinal INTEGER NOT NULL,
    stage TEXT NOT NULL,
    model TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    low INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    high INTEGER NOT NULL,
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;

CREATE TABLE limit_profiles (
    workspace_id TEXT NOT NULL,
    profile TEXT NOT NULL,
    model TEXT NOT NULL,
    version INTEGER NOT NULL CHECK (version > 0),
    requests INTEGER,
    input INTEGER,
    output INTEGER,
    total INTEGER,
    enqueued INTEGER,
    jobs INTEGER,
    set_at INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, profile, model, version)
) STRICT, WITHOUT ROWID;

CREATE TABLE run_limits (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    model TEXT NOT NULL,
    profile TEXT NOT NULL,
    version INTEGER NOT NULL,
    PRIMARY KEY (run_id, model)
) STRICT, WITHOUT ROWID;

CREATE TABLE embeddings (
    workspace_id TEXT NOT NULL,
    passages TEXT NOT NULL,
    request_id INTEGER NOT NULL REFERENCES requests (id),
    first INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, passages)
) STRICT, WITHOUT ROWID;

CREATE INDEX embeddings_request ON embeddings (request_id);

CREATE TABLE embedding_tasks (
    request_id INTEGER NOT NULL REFERENCES requests (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    PRIMARY KEY (request_id, task_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX embedding_tasks_task ON embedding_tasks (task_id);

CREATE TABLE schemas (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    ref TEXT NOT NULL,
    version INTEGER NOT NULL,
    uid TEXT NOT NULL,
    body TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    recency INTEGER NOT NULL,
    UNIQUE (workspace_id, ref, version),
    UNIQUE (workspace_id, uid)
) STRICT;

CREATE TABLE sources (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    document_id INTEGER NOT NULL REFERENCES documents (id),
    place TEXT NOT NULL,
    path TEXT NOT NULL,
    title TEXT NOT NULL,
    options TEXT NOT NULL,
    stamp TEXT NOT NULL,
    read_at INTEGER NOT NULL,
    retired_at INTEGER
) STRICT;

CREATE UNIQUE INDEX sources_place ON sources (workspace_id, place, document_id);

CREATE INDEX sources_document ON sources (document_id);

CREATE INDEX results_rejected ON results (task_id) WHERE review_state = 'rejected';

CREATE TABLE contents (
    number INTEGER NOT NULL,
    block_id INTEGER NOT NULL,
    PRIMARY KEY (number, block_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX results_edited ON results (task_id) WHERE origin = 'person' AND superseded_at IS NULL;

CREATE TABLE reviews (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    task_id INTEGER NOT NULL REFERENCES tasks (id),
    move TEXT NOT NULL CHECK (move = 'approve' OR move = 'edit' OR move = 'reject' OR move = 'undo'),
    who TEXT NOT NULL,
    at INTEGER NOT NULL,
    note TEXT NOT NULL DEFAULT '',
    before_result_id INTEGER REFERENCES results (id),
    after_result_id INTEGER REFERENCES results (id),
    before_data TEXT,
    after_data TEXT,
    before_review TEXT NOT NULL,
    before_reviewer TEXT,
    before_reviewed_at INTEGER,
    before_task TEXT,
    undoes INTEGER REFERENCES reviews (id),
    command TEXT, bulk TEXT,
    CHECK ((undoes IS NOT NULL) = (move = 'undo'))
) STRICT;

CREATE INDEX reviews_task ON reviews (task_id, id);

CREATE INDEX reviews_run ON reviews (run_id, id);

CREATE UNIQUE INDEX reviews_undone ON reviews (undoes) WHERE undoes IS NOT NULL;

CREATE TABLE review_leases (
    task_id INTEGER PRIMARY KEY REFERENCES tasks (id),
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    who TEXT NOT NULL,
    until INTEGER NOT NULL
) STRICT;

CREATE INDEX review_leases_run ON review_leases (run_id);

CREATE INDEX results_inbox ON results (stage_id, review_state, review_rank, id) WHERE superseded_at IS NULL AND review_rank IS NOT NULL;

CREATE INDEX results_superseded ON results (task_id) WHERE superseded_at IS NOT NULL;

CREATE TABLE audits (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    run_id INTEGER NOT NULL REFERENCES runs (id),
    stage_id INTEGER NOT NULL REFERENCES stages (id),
    size INTEGER NOT NULL CHECK (size > 0),
    population INTEGER NOT NULL,
    tolerance INTEGER NOT NULL,
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
    mark TEXT NOT NULL CHECK (mark = 'right' OR mark = 'wrong' OR mark = 'unsure'),
    who TEXT NOT NULL,
    at INTEGER NOT NULL,
    PRIMARY KEY (audit_id, no, field)
) STRICT, WITHOUT ROWID;

CREATE TABLE access_tokens (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    role TEXT NOT NULL CHECK (role = 'viewer' OR role = 'reviewer' OR role = 'operator' OR role = 'admin'),
    digest BLOB NOT NULL UNIQUE,
    tail TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    expires_at INTEGER,
    revoked_at INTEGER,
    last_used_at INTEGER
) STRICT;

CREATE TABLE policy_changes (
    id INTEGER PRIMARY KEY,
    workspace_id TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT,
    who TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT;

CREATE INDEX policy_changes_workspace ON policy_changes (workspace_id, id);

CREATE INDEX documents_workspace ON documents (workspace_id, id);

CREATE INDEX wallet_entries_wallet ON wallet_entries (wallet_id, id);

CREATE INDEX documents_purged ON documents (workspace_id, purged_at) WHERE purged_at IS NOT NULL;

CREATE INDEX blocks_repeated ON blocks (document_id) WHERE content_id IS NOT NULL;

CREATE UNIQUE INDEX credentials_kept ON credentials (workspace_id, provider, person, name)
    WHERE source = 'stored' AND removed_at IS NULL;

CREATE INDEX requests_lane ON requests ((lane_id + 0), id);

CREATE INDEX results_scored ON results (stage_id, review_state, critic_score, id) WHERE superseded_at IS NULL AND review_rank IS NOT NULL AND critic_score IS NOT NULL;

CREATE INDEX reviews_bulk ON reviews (run_id, bulk, id) WHERE bulk IS NOT NULL;
