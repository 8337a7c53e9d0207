-- name: add_piece
-- One chain for each version of a task: whoever comes second adds nothing.
INSERT INTO pieces (task_id, version, no, attempt_id, reason, missing)
VALUES (:task, :version, :no, :attempt, :reason, :missing) ON CONFLICT DO NOTHING

-- name: pieces_before
-- Everything that some attempts' chains hold up to these pieces, in order, with the last of each first.
SELECT last.attempt_id, p.task_id, p.version, p.no, p.attempt_id, p.reason, p.missing, r.decoded, r.codec
FROM pieces last JOIN pieces p ON p.task_id = last.task_id AND p.version = last.version AND p.no <= last.no
JOIN responses r ON r.attempt_id = p.attempt_id
WHERE last.attempt_id IN (:attempts...) AND r.decoded IS NOT NULL ORDER BY last.attempt_id, p.no

-- name: last_pieces
-- The newest piece of each of these tasks, at its current version.
SELECT p.task_id, p.attempt_id FROM pieces p JOIN tasks t ON t.id = p.task_id AND t.workspace_id = :workspace AND t.version = p.version
WHERE p.task_id IN (:tasks...) AND NOT EXISTS (
    SELECT 1 FROM pieces later WHERE later.task_id = p.task_id AND later.version = p.version AND later.no > p.no)

-- name: requests_of_attempts
-- The requests that these attempts were sent for, as a claim takes them.
SELECT a.id, q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.content_bytes, q.max_output, q.reserve, q.sent, q.lost, q.body, q.parent_attempt_id, q.most_input
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE a.id IN (:attempts...)

-- name: ask_for_continuation
-- The next call goes on with what is there; alone, for that is what it is about.
UPDATE tasks SET next_kind = 'continuation', pack_cap = 1 WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: end_chains
-- What was refused as a whole is asked for from the beginning: only a new version of it counts.
UPDATE tasks SET version = version + 1, next_kind = 'answer' WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: forget_continuations
-- Their chains have ended: a retry begins from the beginning.
UPDATE tasks SET next_kind = 'answer' WHERE workspace_id = :workspace AND id IN (:ids...) AND next_kind = 'continuation'

-- name: purge_pieces
DELETE FROM pieces WHERE task_id IN (:tasks...)

-- name: assembled_samples
-- Sizes of the lane's last answers that came in pieces: what the first call took in, and what all of them wrote.
SELECT coalesce(f.input_tokens + f.cached_tokens + f.written_short_tokens + f.written_long_tokens, 0),
    a.output_tokens - coalesce(a.reasoning_tokens, 0) + (
        SELECT CAST(sum(x.output_tokens - coalesce(x.reasoning_tokens, 0)) AS INTEGER) FROM pieces p JOIN attempts x ON x.id = p.attempt_id
        WHERE p.task_id = last.task_id AND p.version = last.version AND p.no <= last.no),
    q.tasks, q.content_bytes
FROM (SELECT id, parent_attempt_id FROM requests WHERE lane_id = :lane AND kind = 'continuation' AND state = 'closed' ORDER BY id DESC LIMIT :limit) AS c
JOIN attempts a ON a.request_id = c.id AND a.state = 'settled' JOIN responses r ON r.attempt_id = a.id AND r.stop <> 'refusal'
JOIN pieces last ON last.attempt_id = c.parent_attempt_id
JOIN pieces first ON first.task_id = last.task_id AND first.version = last.version AND first.no = 0
JOIN attempts f ON f.id = first.attempt_id JOIN requests q ON q.id = f.request_id
WHERE NOT EXISTS (SELECT 1 FROM pieces o WHERE o.attempt_id = a.id) AND (a.cost_basis IS NULL OR a.cost_basis <> 'presumed')
ORDER BY c.id DESC

-- name: chains_before
-- The pieces that some answers went on with, in order.
SELECT a.id, p.task_id, p.version, p.no, p.attempt_id, p.reason, p.missing, r.decoded, r.codec
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN pieces last ON last.attempt_id = q.parent_attempt_id
JOIN pieces p ON p.task_id = last.task_id AND p.version = last.version AND p.no <= last.no
JOIN responses r ON r.attempt_id = p.attempt_id
WHERE a.id IN (:attempts...) AND r.decoded IS NOT NULL ORDER BY a.id, p.no

-- name: request_as_queued
SELECT q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.content_bytes, q.max_output, q.reserve, q.sent, q.lost, q.body, q.parent_attempt_id, q.most_input
FROM requests q JOIN lanes l ON l.id = q.lane_id WHERE l.workspace_id = :workspace AND q.id = :id

-- name: calls_of_chain
-- Every call of the chain that a request belongs to: what it took and cost, and why another followed.
SELECT q.id, a.no, p.no, p.reason, p.missing, a.state, coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens, 0),
    coalesce(a.output_tokens, 0), coalesce(a.cost, 0)
FROM request_tasks me JOIN request_tasks rt ON rt.task_id = me.task_id AND rt.version = me.version
JOIN requests q ON q.id = rt.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN attempts a ON a.request_id = q.id LEFT JOIN pieces p ON p.attempt_id = a.id
WHERE me.request_id = :id AND (p.no IS NOT NULL OR q.kind = 'continuation')
ORDER BY a.id

-- name: continued_attempts
-- Answers of a run that went on with others.
SELECT a.id FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.kind = 'continuation' AND q.state = 'closed'
JOIN attempts a ON a.request_id = q.id AND a.state = 'settled'
WHERE l.workspace_id = :workspace AND l.run_id = :run
