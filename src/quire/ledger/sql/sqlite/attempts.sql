-- name: answered_attempts
-- Stored answers that nobody has judged yet.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, q.late, q.parent_attempt_id,
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens + a.output_tokens - coalesce(a.reasoning_tokens, 0), 0),
    p.decoded, p.codec, p.stop,
    CASE WHEN length(p.decoded) < 32 THEN p.reasoning END
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL ORDER BY a.id LIMIT :limit

-- name: answered_attempts_without
-- The same, without the runs that cannot be judged here.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, q.late, q.parent_attempt_id,
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens + a.output_tokens - coalesce(a.reasoning_tokens, 0), 0),
    p.decoded, p.codec, p.stop,
    CASE WHEN length(p.decoded) < 32 THEN p.reasoning END
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL AND NOT (l.run_id IN (:without...))
ORDER BY a.id LIMIT :limit
