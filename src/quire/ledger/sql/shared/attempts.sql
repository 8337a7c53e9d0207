-- name: add_attempts
-- rows: id int, request_id int, no int, params text, reserved int
INSERT INTO attempts (id, request_id, no, worker_id, provider, model, params, sent_at, reserved, credential_id, slice_id, state)
SELECT rows.id, rows.request_id, rows.no, :worker, :provider, :model, rows.params, :sent_at, rows.reserved, CAST(:credential AS INTEGER), CAST(:slice AS INTEGER), :state FROM rows

-- name: move_attempts
UPDATE attempts SET state = :target WHERE id IN (:ids...) AND state = :source RETURNING id, reserved, slice_id

-- name: move_attempt_group
UPDATE attempts SET state = :target WHERE id IN (:ids...) AND state = :source

-- name: end_attempts
-- How an attempt without an answer ended.
-- rows: id int, ended_at int, error text, cost int, cost_basis text
UPDATE attempts SET ended_at = rows.ended_at, error = rows.error, cost = rows.cost, cost_basis = rows.cost_basis
FROM rows WHERE attempts.id = rows.id

-- name: answer_attempts
-- The common case of an answer: the attempt is open, and its move and its usage are one write.
-- rows: id int, ended_at int, input int, output int, cached int, short int, long int, reasoning int, cost int, basis text, source text, target text
UPDATE attempts SET state = rows.target, ended_at = rows.ended_at, input_tokens = rows.input, output_tokens = rows.output,
    cached_tokens = rows.cached, written_short_tokens = rows.short, written_long_tokens = rows.long,
    reasoning_tokens = rows.reasoning, cost = rows.cost, cost_basis = rows.basis, error = NULL
FROM rows WHERE attempts.id = rows.id AND attempts.state = rows.source

-- name: count_usage
-- What an answered attempt used and cost.
-- rows: id int, ended_at int, input int, output int, cached int, short int, long int, reasoning int, cost int, basis text
UPDATE attempts SET ended_at = rows.ended_at, input_tokens = rows.input, output_tokens = rows.output,
    cached_tokens = rows.cached, written_short_tokens = rows.short, written_long_tokens = rows.long,
    reasoning_tokens = rows.reasoning, cost = rows.cost, cost_basis = rows.basis, error = NULL
FROM rows WHERE attempts.id = rows.id

-- name: add_responses
-- No reasoning is sent as an empty one: binding NULL for every row is slow on SQLite.
-- rows: attempt_id int, raw bytes, decoded bytes, reasoning bytes, codec text, decoder_version int, stop text
INSERT INTO responses (attempt_id, raw, decoded, reasoning, codec, decoder_version, stop, stored_at)
SELECT rows.attempt_id, rows.raw, rows.decoded, CASE WHEN length(rows.reasoning) > 0 THEN rows.reasoning END, rows.codec, rows.decoder_version, rows.stop, :stored_at FROM rows

-- name: redecode_response
UPDATE responses SET decoded = :decoded, reasoning = :reasoning, decoder_version = :version, stop = :stop
WHERE attempt_id = :id

-- name: undecoded_responses
-- Responses that a decoder could not read when they came.
SELECT a.id, a.provider, p.decoder_version, a.cost, l.run_id, l.stage_id, l.id, a.batch_id, a.slice_id, p.raw, p.codec
FROM attempts a JOIN responses p ON p.attempt_id = a.id
JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE a.state = 'answered' AND p.decoded IS NULL AND p.raw IS NOT NULL ORDER BY a.id

-- name: attempts_by_id
SELECT a.id, a.request_id, a.no, a.state, a.reserved, l.id, l.run_id, l.stage_id, q.state, q.tasks, q.sent, a.slice_id
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND a.id IN (:ids...) ORDER BY a.id

-- name: sizes_of_attempts
-- How much was sent, of calls whose provider does not say.
SELECT a.id, l.id, q.tasks, q.content_bytes
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND a.id IN (:ids...)

-- name: open_attempts_of_workers
-- Of every workspace: a worker that is gone is ended once, for all that it had out.
SELECT a.id, a.request_id, a.no, a.state, a.reserved, l.id, l.run_id, l.stage_id, q.state, q.tasks, q.sent, a.slice_id
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE a.worker_id IN (:workers...) AND a.state = 'open' ORDER BY a.id

-- name: unknown_attempts
-- In the order of their index: by key, SQLite would look at every attempt there ever was.
SELECT a.id, a.reserved FROM attempts a
WHERE a.state = 'unknown' AND a.ended_at <= :before ORDER BY a.ended_at LIMIT :limit

-- name: output_samples
-- Output sizes of the lane's last requests, where the answer ended by itself. The limit is on the requests: where
-- few answers end by themselves, the whole lane would be read for the rest. Estimated counts teach nothing; nor do
-- pieces, only what they are together. Beside it stands how many of the answers in it were
-- refused, where that is asked for: packing asks often, and not for that.
SELECT coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens, 0), a.output_tokens - coalesce(a.reasoning_tokens, 0),
    q.tasks, q.content_bytes, CASE WHEN :refusals = 1 THEN (SELECT count(*) FROM request_tasks m WHERE m.request_id = q.id AND m.verdict IN ('retry', 'fail')) ELSE 0 END
FROM (SELECT id, tasks, content_bytes FROM requests WHERE lane_id = :lane AND state = 'closed' AND kind <> 'continuation' AND kind <> 'embed' ORDER BY id DESC LIMIT :limit) AS q
JOIN attempts a ON a.request_id = q.id JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'settled' AND p.stop = 'end' AND (a.cost_basis IS NULL OR a.cost_basis <> 'presumed')
  AND NOT EXISTS (SELECT 1 FROM pieces c WHERE c.attempt_id = a.id) ORDER BY q.id DESC

-- name: attempts_of_request
SELECT a.id, a.no, a.state, a.provider, a.model, a.params, a.sent_at, a.ended_at, a.input_tokens, a.output_tokens, a.cached_tokens,
    a.written_short_tokens + a.written_long_tokens, a.reasoning_tokens, a.reserved, a.cost, a.cost_basis, a.error,
    c.source, CASE WHEN c.person <> '' THEN c.name || ' of ' || c.person ELSE c.name END, c.tail, p.raw, p.decoded, p.reasoning, p.codec, p.stop, a.batch_id
FROM attempts a LEFT JOIN responses p ON p.attempt_id = a.id LEFT JOIN credentials c ON c.id = a.credential_id AND c.workspace_id = :workspace
WHERE a.request_id = :id ORDER BY a.no

-- name: spend_of_run
-- Spend as the attempts themselves say it: the truth the tallies must equal.
SELECT coalesce(CAST(sum(CASE WHEN a.cost_basis = 'usage' THEN a.cost ELSE 0 END) AS INTEGER), 0),
    coalesce(CAST(sum(CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved
        WHEN a.cost_basis = 'presumed' THEN a.cost ELSE 0 END) AS INTEGER), 0)
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND l.run_id = :run

-- name: response_codec
SELECT codec, stored_at FROM responses WHERE attempt_id = :id

-- name: count_open_attempts
-- And how many of them were reserved for in slices, in which at least and at most, and how much for all of them.
SELECT count(*), count(slice_id), min(slice_id), max(slice_id), CAST(sum(reserved) AS INTEGER) FROM attempts WHERE id IN (:ids...) AND state = 'open'

-- name: purged_attempts
-- Which of these were sent for a request whose words are erased by now.
SELECT a.id FROM attempts a JOIN requests q ON q.id = a.request_id WHERE a.id IN (:ids...) AND q.purged_at IS NOT NULL

-- name: has_answered
-- Whether anything ever came back from a model; asked when something failed, and until it has.
SELECT 1 FROM lanes l JOIN requests q ON q.lane_id = l.id JOIN attempts a ON a.request_id = q.id
WHERE l.workspace_id = :workspace AND l.model = :model AND a.state IN ('answered', 'settled') LIMIT 1

-- name: first_sending
-- When the first call of a lane went out, and how many came to nothing since.
SELECT min(a.sent_at), CAST(coalesce(sum(CASE WHEN a.state IN ('refused', 'unknown', 'written_off') THEN 1 ELSE 0 END), 0) AS INTEGER)
FROM lanes l JOIN requests q ON q.lane_id = l.id JOIN attempts a ON a.request_id = q.id
WHERE l.workspace_id = :workspace AND l.id = :lane

-- name: is_first_sending_out
-- Asked only of a lane whose calls are refused, while nothing was ever answered.
SELECT 1 FROM lanes l JOIN requests q ON q.lane_id = l.id JOIN attempts a ON a.request_id = q.id
WHERE l.workspace_id = :workspace AND l.id = :lane AND q.state = 'out' AND q.sent <= 1 AND q.id <> :besides AND a.state = 'open' LIMIT 1

-- name: last_error
-- Of requests that wait to go again: there are never many.
SELECT a.error FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'queued'
JOIN attempts a ON a.request_id = q.id
WHERE l.workspace_id = :workspace AND l.run_id = :run AND a.error IS NOT NULL ORDER BY a.id DESC LIMIT 1

-- name: count_unread_answers
SELECT count(*) FROM attempts a JOIN responses p ON p.attempt_id = a.id WHERE a.request_id = :request AND p.decoded IS NULL
