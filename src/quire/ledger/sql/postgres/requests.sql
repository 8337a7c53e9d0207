-- name: sendable_requests
-- As on SQLite, and another worker's are skipped. Never as a subquery: it may be carried out more than once and lock
-- too much.
SELECT q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.content_bytes, q.max_output, q.reserve, q.sent, q.lost, q.body, q.parent_attempt_id, q.most_input
FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.not_before <= :now
  AND (q.sent = 0 OR NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'answered'))
ORDER BY q.id LIMIT :limit FOR NO KEY UPDATE OF q SKIP LOCKED

-- name: take_members
-- The members of some requests, locked in key order so that two settlers cannot deadlock. One look-up a member, whatever
-- the planner believes: without statistics it would read all tasks.
SELECT rt.request_id, rt.ordinal, rt.wire_id, rt.version, t.id, t.stage_id, t.state, t.version, t.tries, t.calls, t.pack_cap, t.output_floor
FROM (SELECT request_id, ordinal, wire_id, version, task_id FROM request_tasks
    WHERE request_id IN (:ids...) ORDER BY task_id, request_id OFFSET 0) AS rt
CROSS JOIN LATERAL (SELECT id, stage_id, state, version, tries, calls, pack_cap, output_floor FROM tasks
    WHERE id = rt.task_id AND workspace_id = :workspace OFFSET 0 FOR NO KEY UPDATE) AS t

-- name: count_sendable_members
-- As on SQLite; one look-up a member, whatever the planner believes.
SELECT rt.request_id, count(*) FROM request_tasks rt CROSS JOIN LATERAL (
    SELECT 1 FROM tasks WHERE id = rt.task_id AND workspace_id = :workspace AND state = 'packed'
      AND version = rt.version AND calls < :most OFFSET 0) AS t
WHERE rt.request_id IN (:ids...) GROUP BY rt.request_id

-- name: member_contents
-- As on SQLite; one look-up a member, whatever the planner believes.
SELECT rt.request_id, rt.wire_id, t.id, t.state, CASE WHEN t.version = rt.version THEN 1 ELSE 0 END, t.calls, b.block_index, b.block_type, b.content
FROM request_tasks rt
CROSS JOIN LATERAL (SELECT id, state, version, calls, block_id FROM tasks WHERE id = rt.task_id AND workspace_id = :workspace OFFSET 0) AS t
LEFT JOIN LATERAL (SELECT block_index, block_type, content FROM blocks WHERE id = t.block_id AND workspace_id = :workspace OFFSET 0) AS b ON true
WHERE rt.request_id IN (:ids...) ORDER BY rt.request_id, rt.ordinal

-- name: calls_after
-- In the order of the index: an equal lane would let it walk through the calls of other runs by their key.
SELECT id FROM requests WHERE (lane_id + 0, id) > (:lane, :after) AND lane_id + 0 <= :lane ORDER BY lane_id + 0, id LIMIT :limit

-- name: unsent_requests
-- Whoever has taken some may wait for money that this transaction holds: those are left alone.
SELECT q.id FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.sent = 0 ORDER BY q.id FOR NO KEY UPDATE SKIP LOCKED
