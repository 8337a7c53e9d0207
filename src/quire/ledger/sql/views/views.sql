-- Views for people and their tools: Datasette, DuckDB, psql. Made anew after every migration; whoever changes one here
-- adds a migration, if only an empty one. Each column has its type and its meaning behind it: docs/tables.md and the
-- tables of a bundle are made of that.
--
-- MOMENT(x) is an ISO moment in UTC, JSON_TEXT(x, 'name') a field of a JSON object as text, UTF8(x) bytes as text, DOLLARS(x) picodollars as dollars.

-- name: v_results_flat
-- One row a task and path: what it is about, how it stands, what it cost, and its current result. Start here.
SELECT
    s.run_id AS run_id, -- integer; the run: v_runs
    s.id AS stage_id, -- integer; the stage: v_run_stages
    s.name AS stage, -- text; what the stage is called
    t.id AS task_id, -- integer; the task
    t.state AS state, -- text; ready, packed, done, failed …
    CASE WHEN t.state = 'done' AND r.review_state IN ('approved', 'edited') THEN 'confirmed' WHEN t.state = 'done' THEN 'accepted'
        WHEN t.state IN ('failed', 'proposed', 'blocked', 'cancelled') THEN t.state ELSE 'pending' END AS status, -- text; as in exports
    t.error AS error, -- text; why there is no data, or what was said against the last answer
    coalesce(p.path, d.source_locator) AS source, -- text; the file it was read from; a row for each, where several are the same
    coalesce(p.title, d.title) AS title, -- text; of the document
    d.id AS document_id, -- integer; the document
    b.block_index AS block_index, -- integer; of the block it is about; NULL of a whole document
    b.block_type AS block_type, -- text; heading, paragraph …
    JSON_TEXT(b.locator, 'key') AS key, -- text; of the key column
    b.content AS text, -- text; the block
    coalesce(m.name, JSON_TEXT(u.model, 'name')) AS model, -- text; who is asked
    t.sample AS sample, -- integer; which of several answers
    t.version AS version, -- integer; how often it was asked anew, from 1
    CASE WHEN p.id IS NULL OR p.id = (SELECT min(o.id) FROM sources o WHERE o.document_id = d.id AND o.retired_at IS NULL) THEN
        DOLLARS(coalesce((SELECT sum((CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE coalesce(a.cost, 0) END) / q.tasks)
            FROM request_tasks rt JOIN requests q ON q.id = rt.request_id JOIN attempts a ON a.request_id = q.id WHERE rt.task_id = t.id), 0))
        ELSE 0 END AS cost_usd, -- number; its share of the calls that carried it; told once where there are several paths
    r.id AS result_id, -- integer; its current result: v_results
    r.data AS data, -- json; of the current result; accepted where status says so
    coalesce(r.review_state, 'unreviewed') AS review, -- text; unreviewed, approved, edited, rejected
    r.reviewer AS reviewer, -- text; who decided
    MOMENT(r.reviewed_at) AS reviewed_at, -- moment; when
    MOMENT(r.created_at) AS answered_at -- moment; when the result was accepted
FROM stages s JOIN runs u ON u.id = s.run_id JOIN tasks t ON t.stage_id = s.id
LEFT JOIN blocks b ON b.id = t.block_id
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id)
LEFT JOIN sources p ON p.document_id = d.id AND p.retired_at IS NULL
LEFT JOIN run_models m ON m.run_id = s.run_id AND m.no = t.model_no
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL

-- name: v_runs
-- One row a run.
SELECT
    u.id AS run_id, -- integer; the run's number
    u.workspace_id AS workspace_id, -- text; whose it is
    JSON_TEXT(u.recipe, 'name') AS recipe, -- text; what was asked
    JSON_TEXT(u.model, 'name') AS model, -- text; its own model
    u.state AS state, -- text; running, finished, cancelled
    MOMENT(u.created_at) AS started_at, -- moment; when it was ordered
    MOMENT(u.ended_at) AS ended_at, -- moment; NULL while it runs
    count(DISTINCT s.id) AS stages, -- integer; how many it has
    (SELECT count(*) FROM run_documents rd WHERE rd.run_id = u.id) AS documents, -- integer; what it is about
    CAST(coalesce(sum(CASE WHEN y.what = 'done' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS done, -- integer; tasks
    CAST(coalesce(sum(CASE WHEN y.what = 'failed' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS failed, -- integer; tasks
    CAST(coalesce(sum(CASE WHEN y.what = 'calls' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS calls, -- integer; answered
    DOLLARS(coalesce(sum(CASE WHEN y.what = 'cost' THEN y.delta ELSE 0 END), 0)) AS cost_usd, -- number; known
    DOLLARS(coalesce(sum(CASE WHEN y.what = 'presumed' THEN y.delta ELSE 0 END), 0)) AS presumed_usd -- number; of calls nobody knows the end of
FROM runs u LEFT JOIN stages s ON s.run_id = u.id LEFT JOIN tallies y ON y.stage_id = s.id
GROUP BY u.id, u.workspace_id, u.recipe, u.model, u.state, u.created_at, u.ended_at

-- name: v_run_stages
-- One row a stage of a run.
SELECT
    s.id AS stage_id, -- integer; the stage
    s.run_id AS run_id, -- integer; v_runs
    s.name AS stage, -- text; what it is called
    s.state AS state, -- text; waiting, expanding, open, closed
    s.expanded AS tasks, -- integer; made so far
    CAST(coalesce(sum(CASE WHEN y.what = 'done' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS done, -- integer; tasks
    CAST(coalesce(sum(CASE WHEN y.what = 'failed' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS failed, -- integer; tasks
    CAST(coalesce(sum(CASE WHEN y.what = 'calls' THEN y.delta ELSE 0 END), 0) AS INTEGER) AS calls, -- integer; answered
    DOLLARS(coalesce(sum(CASE WHEN y.what = 'cost' THEN y.delta ELSE 0 END), 0)) AS cost_usd, -- number; known
    DOLLARS(coalesce(sum(CASE WHEN y.what = 'presumed' THEN y.delta ELSE 0 END), 0)) AS presumed_usd, -- number; of calls nobody knows the end of
    DOLLARS((SELECT sum(f.cost) FROM stage_forecasts f WHERE f.run_id = s.run_id AND f.stage = s.name)) AS forecast_usd -- number; when the run began
FROM stages s LEFT JOIN tallies y ON y.stage_id = s.id GROUP BY s.id, s.run_id, s.name, s.state, s.expanded

-- name: v_requests
-- One row a call: the tasks that travel together.
SELECT
    q.id AS request_id, -- integer; the request
    l.run_id AS run_id, -- integer; v_runs
    l.stage_id AS stage_id, -- integer; v_run_stages
    l.model AS model, -- text; who is asked
    l.route AS route, -- text; direct or batch
    q.kind AS kind, -- text; answer, repair, continuation, embed
    q.state AS state, -- text; queued, out, closed, dropped
    q.tasks AS tasks, -- integer; that it carries
    q.sent AS sent, -- integer; times it was sent
    q.lost AS lost, -- integer; times nobody knows the end of
    q.max_output AS max_output, -- integer; tokens at most
    DOLLARS(q.reserve) AS reserve_usd, -- number; what one sending may cost at most
    MOMENT(q.purged_at) AS purged_at -- moment; when its text was erased
FROM requests q JOIN lanes l ON l.id = q.lane_id

-- name: v_request_tasks
-- One row a task in a call: what joins v_results_flat and v_requests.
SELECT
    rt.request_id AS request_id, -- integer; v_requests
    l.run_id AS run_id, -- integer; v_runs
    rt.task_id AS task_id, -- integer; v_results_flat
    rt.ordinal AS ordinal, -- integer; its place in the call, from 1
    rt.wire_id AS wire_id, -- text; its name in the call
    rt.version AS version, -- integer; of the task, as it was asked
    CASE WHEN rt.verdict IS NULL AND EXISTS (SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
        WHERE a.request_id = rt.request_id AND a.state = 'settled' AND p.stop IS NOT NULL)
        THEN 'accept' ELSE rt.verdict END AS verdict, -- text; accept, retry, fail; NULL where nothing was judged
    rt.reasons AS reasons -- json; why
FROM request_tasks rt JOIN requests q ON q.id = rt.request_id JOIN lanes l ON l.id = q.lane_id

-- name: v_messages
-- One row a message of a call. What is not kept but rendered is NULL here, and whole in a bundle and in `quire ledger`.
SELECT
    q.id AS request_id, -- integer; v_requests
    l.run_id AS run_id, -- integer; v_runs
    k.ordinal AS ordinal, -- integer; in the order in which it is sent
    k.role AS role, -- text; system, user, assistant
    CASE WHEN k.role = 'system' THEN x.system ELSE q.body END AS content -- text; what it says
FROM requests q JOIN lanes l ON l.id = q.lane_id JOIN prefixes x ON x.hash = q.prefix_hash
CROSS JOIN (SELECT 0 AS ordinal, 'system' AS role UNION ALL SELECT 1, 'user') AS k

-- name: v_attempts
-- One row a sending of a call.
SELECT
    a.id AS attempt_id, -- integer; the attempt
    a.request_id AS request_id, -- integer; v_requests
    l.run_id AS run_id, -- integer; v_runs
    a.no AS no, -- integer; which sending of the call
    a.state AS state, -- text; open, answered, settled, unknown, written_off, refused
    a.provider AS provider, -- text; who was called
    a.model AS model, -- text; which model
    a.batch_id AS batch_id, -- integer; v_batches; NULL: it went by itself
    MOMENT(a.sent_at) AS sent_at, -- moment; when
    MOMENT(a.ended_at) AS ended_at, -- moment; when it came back or was given up
    a.input_tokens AS input_tokens, -- integer; neither read from a cache nor written to one
    a.cached_tokens AS cached_tokens, -- integer; read from a cache
    a.written_short_tokens + a.written_long_tokens AS written_tokens, -- integer; written to one
    a.output_tokens AS output_tokens, -- integer; with those of reasoning
    a.reasoning_tokens AS reasoning_tokens, -- integer; of the output
    DOLLARS(CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE a.cost END) AS cost_usd, -- number; what is known or presumed
    CASE WHEN a.state IN ('unknown', 'written_off') THEN 'presumed' ELSE a.cost_basis END AS cost_basis, -- text; usage, presumed, free
    a.error AS error -- text; why it failed
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id

-- name: v_responses
-- One row a response. Long ones are kept compressed, and NULL here; a bundle has the text of all, and what came as `raw`.
SELECT
    p.attempt_id AS attempt_id, -- integer; v_attempts
    a.request_id AS request_id, -- integer; v_requests
    l.run_id AS run_id, -- integer; v_runs
    p.stop AS stop, -- text; end, length, refusal …
    p.codec AS codec, -- text; plain or zlib
    p.decoder_version AS decoder_version, -- integer; of what read it
    MOMENT(p.stored_at) AS stored_at, -- moment; when it was kept
    length(p.raw) AS raw_bytes, -- integer; as kept; NULL once purged
    CASE WHEN p.codec = 'plain' THEN UTF8(p.decoded) END AS text, -- text; what the model said
    CASE WHEN p.codec = 'plain' THEN UTF8(p.reasoning) END AS reasoning -- text; what it thought
FROM responses p JOIN attempts a ON a.id = p.attempt_id JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id

-- name: v_batches
-- One row a provider's batch.
SELECT
    c.id AS batch_id, -- integer; the batch
    l.run_id AS run_id, -- integer; v_runs
    l.stage_id AS stage_id, -- integer; v_run_stages
    l.model AS model, -- text; who is asked
    c.ref AS ref, -- text; the provider's name for it
    c.state AS state, -- text; draft, submitting, unknown, open, ended, collected, abandoned
    c.end_reason AS end_reason, -- text; completed, failed, expired, cancelled, queue_full
    c.calls AS calls, -- integer; in it
    c.tokens AS tokens, -- integer; that they may send at most
    MOMENT(c.created_at) AS created_at, -- moment; when it was drafted
    MOMENT(c.submitted_at) AS submitted_at, -- moment; since when the provider is known to have it
    MOMENT(c.ended_at) AS ended_at, -- moment; when it was through
    MOMENT(c.collected_at) AS collected_at, -- moment; when its answers were stored
    c.duplicates AS duplicates, -- integer; rows that came twice
    c.strangers AS strangers, -- integer; rows that nobody asked for
    c.missing AS missing, -- integer; calls without a row
    c.unread AS unread, -- integer; lines that nobody could read
    c.problem AS problem -- text; what was last said to be wrong
FROM batches c JOIN lanes l ON l.id = c.lane_id

-- name: v_batch_items
-- One row a call in a batch.
SELECT
    a.batch_id AS batch_id, -- integer; v_batches
    a.id AS attempt_id, -- integer; v_attempts
    a.request_id AS request_id, -- integer; v_requests
    l.run_id AS run_id, -- integer; v_runs
    a.state AS state, -- text; of the attempt
    MOMENT(a.ended_at) AS ended_at, -- moment; when its row came
    DOLLARS(a.cost) AS cost_usd, -- number; what it cost
    a.error AS error -- text; why it failed
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id WHERE a.batch_id IS NOT NULL

-- name: v_results
-- One row an accepted answer, also those that made way.
SELECT
    r.id AS result_id, -- integer; the result
    r.task_id AS task_id, -- integer; v_results_flat
    t.run_id AS run_id, -- integer; v_runs
    t.stage_id AS stage_id, -- integer; v_run_stages
    r.version AS version, -- integer; of the task, as it was asked
    r.origin AS origin, -- text; model or person
    r.attempt_id AS attempt_id, -- integer; v_attempts; of a reused answer, of the run that paid for it
    r.reused_from AS reused_from, -- integer; the result it was taken from
    r.data AS data, -- json; NULL once purged
    r.notes AS notes, -- json; what was read in another form
    r.review_state AS review, -- text; unreviewed, approved, edited, rejected
    MOMENT(r.created_at) AS created_at, -- moment; when it was accepted
    MOMENT(r.superseded_at) AS superseded_at -- moment; since when another counts; NULL: it is current
FROM results r JOIN tasks t ON t.id = r.task_id

-- name: v_reviews
-- One row a decision of a person.
SELECT
    v.id AS review_id, -- integer; the decision
    coalesce(v.after_result_id, v.before_result_id) AS result_id, -- integer; v_results: of an edit, the person's own
    v.task_id AS task_id, -- integer; v_results_flat
    v.run_id AS run_id, -- integer; v_runs
    v.stage_id AS stage_id, -- integer; v_run_stages
    CASE v.move WHEN 'approve' THEN 'approved' WHEN 'edit' THEN 'edited' WHEN 'reject' THEN 'rejected' ELSE 'undone' END AS decision, -- text; approved, edited, rejected, undone
    v.who AS reviewer, -- text; who
    MOMENT(v.at) AS reviewed_at, -- moment; when
    v.note AS note, -- text; why
    v.before_data AS before_data, -- json; what stood before; NULL: it was purged
    v.after_data AS after_data, -- json; what stood after; NULL: it is asked again, or was purged
    v.undoes AS undoes, -- integer; the decision that an undo takes back
    MOMENT(r.superseded_at) AS superseded_at -- moment; since when another result counts
FROM reviews v LEFT JOIN results r ON r.id = coalesce(v.after_result_id, v.before_result_id)

-- name: v_events
-- One row a line of history.
SELECT
    e.id AS event_id, -- integer; the event
    e.run_id AS run_id, -- integer; v_runs; NULL: of no run
    MOMENT(e.at) AS at, -- moment; when
    e.kind AS kind, -- text; what happened
    e.detail AS detail, -- text; in words
    e.fields AS fields -- json; what the words are made of
FROM events e LEFT JOIN runs u ON u.id = e.run_id
