-- name: sendable_requests
-- The oldest sendable requests of a lane; one whose late answer is here already is paid for and does not go again.
-- SQLite has one writer, so no row needs a lock of its own.
SELECT q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.content_bytes, q.max_output, q.reserve, q.sent, q.lost, q.body, q.parent_attempt_id, q.most_input
FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.not_before <= :now
  AND (q.sent = 0 OR NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'answered'))
ORDER BY q.id LIMIT :limit
