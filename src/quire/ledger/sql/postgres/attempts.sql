-- name: answered_attempts
-- Stored answers that nobody has judged yet; another settler's are skipped. The request is taken too: nobody may
-- claim it while its late answer is judged, and everyone takes requests before tasks.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, q.late, q.parent_attempt_id,
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens + a.output_tokens - coalesce(a.reasoning_tokens, 0), 0),
    p.decoded, p.codec, p.stop,
    CASE WHEN length(p.decoded) < 32 THEN p.reasoning END
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL ORDER BY a.id LIMIT :limit FOR NO KEY UPDATE OF a, q SKIP LOCKED

-- name: count_open_attempts
-- Locked, so that a rescuer cannot take them between the count and the move.
SELECT count(*), count(slice_id), min(slice_id), max(slice_id), CAST(sum(reserved) AS INTEGER)
FROM (SELECT slice_id, reserved FROM attempts WHERE id IN (:ids...) AND state = 'open' FOR NO KEY UPDATE) AS open_ones

-- name: output_samples
-- As on SQLite. OFFSET 0 keeps the question apart for each request: as a join, PostgreSQL would read all attempts.
SELECT coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens, 0), a.output_tokens - coalesce(a.reasoning_tokens, 0),
    q.tasks, q.content_bytes, CASE WHEN :refusals = 1 THEN (SELECT count(*) FROM request_tasks m WHERE m.request_id = q.id AND m.verdict IN ('retry', 'fail')) ELSE 0 END
FROM (SELECT id, tasks, content_bytes FROM requests WHERE lane_id = :lane AND state = 'closed' AND kind <> 'continuation' AND kind <> 'embed' ORDER BY id DESC LIMIT :limit) AS q
CROSS JOIN LATERAL (
    SELECT input_tokens, cached_tokens, written_short_tokens, written_long_tokens, output_tokens, reasoning_tokens
    FROM attempts JOIN responses ON attempt_id = id
    WHERE request_id = q.id AND state = 'settled' AND stop = 'end'
        AND (cost_basis IS NULL OR cost_basis <> 'presumed') AND NOT EXISTS (SELECT 1 FROM pieces c WHERE c.attempt_id = id) OFFSET 0) AS a
ORDER BY q.id DESC

-- name: undecoded_responses
-- As on SQLite; another worker's are skipped, so that no reading is counted twice.
SELECT a.id, a.provider, p.decoder_version, a.cost, l.run_id, l.stage_id, l.id, a.batch_id, a.slice_id, p.raw, p.codec
FROM attempts a JOIN responses p ON p.attempt_id = a.id
JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE a.state = 'answered' AND p.decoded IS NULL AND p.raw IS NOT NULL ORDER BY a.id FOR NO KEY UPDATE OF a, p SKIP LOCKED

-- name: answered_attempts_without
-- The same, without the runs that cannot be judged here.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, q.late, q.parent_attempt_id,
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens + a.output_tokens - coalesce(a.reasoning_tokens, 0), 0),
    p.decoded, p.codec, p.stop,
    CASE WHEN length(p.decoded) < 32 THEN p.reasoning END
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL AND NOT (l.run_id IN (:without...))
ORDER BY a.id LIMIT :limit FOR NO KEY UPDATE OF a, q SKIP LOCKED
