-- name: sendable_requests
-- The oldest sendable requests of a lane; one whose late answer is here already is paid for and does not go again.
-- SQLite has one writer, so no row needs a lock of its own.
SELECT q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.max_output, q.reserve, q.sent, q.lost, q.body
FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.not_before <= :now
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'answered')
ORDER BY q.id LIMIT :limit

-- name: answered_attempts
-- Stored answers that nobody has judged yet.
SELECT a.id, a.request_id, a.no, l.run_id, l.stage_id, l.id, q.state, q.sent, q.tasks, q.max_output, p.decoded, p.codec, p.stop
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
JOIN responses p ON p.attempt_id = a.id
WHERE a.state = 'answered' AND p.decoded IS NOT NULL ORDER BY a.id LIMIT :limit

-- name: last_documents_id
SELECT coalesce(max(id), 0) FROM documents -- every workspace: keys are shared

-- name: last_blocks_id
SELECT coalesce(max(id), 0) FROM blocks -- every workspace: keys are shared

-- name: last_tasks_id
SELECT coalesce(max(id), 0) FROM tasks -- every workspace: keys are shared

-- name: last_requests_id
SELECT coalesce(max(id), 0) FROM requests

-- name: last_attempts_id
SELECT coalesce(max(id), 0) FROM attempts
