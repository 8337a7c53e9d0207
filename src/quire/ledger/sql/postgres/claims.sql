-- name: sendable_requests
-- As on SQLite, and another worker's are skipped. Never as a subquery: it may be carried out more than once and lock
-- too much.
SELECT q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.max_output, q.reserve, q.sent, q.lost, q.body
FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.not_before <= :now
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'answered')
ORDER BY q.id LIMIT :limit FOR UPDATE OF q SKIP LOCKED

-- name: answered_attempts
-- Stored answers that nobody has judged yet; another settler's are skipped. The request is taken too: nobody may
-- claim it while its late answer is judged, and everyone takes requests before tasks.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, p.decoded, p.codec, p.stop
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL ORDER BY a.id LIMIT :limit FOR UPDATE OF a, q SKIP LOCKED

-- name: ready_tasks
-- As on SQLite, and another worker's tasks are skipped. OFFSET 0 keeps the question apart for each task: as a join,
-- PostgreSQL would read the members of every request there ever was.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, b.json_bytes, b.block_index, b.block_type, b.content
FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.state = 'ready'
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') OFFSET 0)
ORDER BY t.id LIMIT :limit FOR UPDATE OF t SKIP LOCKED

-- name: members
-- The members of some requests, locked in key order so that two settlers cannot deadlock.
SELECT rt.request_id, rt.ordinal, rt.wire_id, rt.version, t.id, t.stage_id, t.state, t.version, t.tries, t.calls, t.pack_cap
FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
WHERE rt.request_id IN (:ids...) ORDER BY t.id, rt.request_id FOR UPDATE OF t

-- name: lock_stage
-- The stage's cursor, taken for this transaction: two workers never expand the same part.
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE id = :id FOR UPDATE

-- name: next_ids
SELECT nextval(CAST(:sequence AS regclass)) FROM generate_series(1, :count)

-- name: count_open_attempts
-- Locked, so that a rescuer cannot take them between the count and the move.
SELECT count(*) FROM (SELECT 1 FROM attempts WHERE id IN (:ids...) AND state = 'open' FOR UPDATE) AS open_ones

-- name: output_samples
-- As on SQLite. OFFSET 0 keeps the question apart for each request: as a join, PostgreSQL would read all attempts.
SELECT a.output_tokens, q.tasks, q.content_bytes
FROM (SELECT id, tasks, content_bytes FROM requests WHERE lane_id = :lane AND state = 'closed' ORDER BY id DESC LIMIT :limit) AS q
CROSS JOIN LATERAL (
    SELECT output_tokens FROM attempts JOIN responses ON attempt_id = id
    WHERE request_id = q.id AND state = 'settled' AND stop = 'end' OFFSET 0) AS a
ORDER BY q.id DESC

-- name: undecoded
-- As on SQLite; another worker's are skipped, so that no reading is counted twice.
SELECT a.id, a.provider, p.decoder_version, a.cost, l.run_id, l.stage_id, p.raw, p.codec
FROM attempts a JOIN responses p ON p.attempt_id = a.id
JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE a.state = 'answered' AND p.decoded IS NULL AND p.raw IS NOT NULL ORDER BY a.id FOR UPDATE OF a, p SKIP LOCKED

-- name: lock_key
-- Whoever orders the same waits until this transaction ends.
SELECT pg_advisory_xact_lock(:key)

-- name: refresh_statistics
-- Right after many rows came in, plans made for empty tables would read them again and again.
ANALYZE documents, blocks, run_documents, tasks, results
