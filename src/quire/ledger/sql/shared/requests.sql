-- name: add_lane
INSERT INTO lanes (workspace_id, run_id, stage_id, model, route, serves)
VALUES (:workspace, :run, :stage, :model, :route, :serves) RETURNING id

-- name: open_lanes
-- Lanes that may send now: their run goes on, nobody holds it, the provider did not ask to wait. Sorted by an
-- expression: for a bare key SQLite would look at the lanes of every run there ever was.
SELECT l.id, l.run_id, l.stage_id, l.model, l.route, l.serves, r.stop_after_stage,
    EXISTS (SELECT 1 FROM run_funds f WHERE f.run_id = r.id)
FROM runs r JOIN lanes l ON l.run_id = r.id JOIN stages s ON s.id = l.stage_id
WHERE r.workspace_id = :workspace AND r.state = 'running' AND r.cancel_asked_at IS NULL
  AND s.state IN ('expanding', 'open') AND l.next_at <= :now
  AND NOT EXISTS (SELECT 1 FROM holds h WHERE h.run_id = r.id)
ORDER BY +l.id

-- name: lanes_of_run
SELECT id, run_id, stage_id, model, route, serves FROM lanes WHERE workspace_id = :workspace AND run_id = :run ORDER BY id

-- name: next_lane_moment
-- When the next waiting lane or queued request of a run may go.
SELECT min(CASE WHEN l.next_at > q.not_before THEN l.next_at ELSE q.not_before END)
FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'queued'
WHERE l.workspace_id = :workspace AND l.run_id = :run

-- name: delay_lane
UPDATE lanes SET next_at = :until WHERE workspace_id = :workspace AND id = :id AND next_at < :until

-- name: forget_lane_waits
-- A person wants it tried now, whatever the provider said.
UPDATE lanes SET next_at = 0, given_up_at = NULL WHERE workspace_id = :workspace AND run_id = :run AND (next_at > 0 OR given_up_at IS NOT NULL)

-- name: forget_request_waits
UPDATE requests SET not_before = 0 WHERE state = 'queued' AND not_before > 0
    AND lane_id IN (SELECT l.id FROM lanes l WHERE l.workspace_id = :workspace AND l.run_id = :run)

-- name: count_queued_in_lane
SELECT count(*) FROM (SELECT 1 FROM requests WHERE lane_id = :lane AND state = 'queued' LIMIT :limit) AS counted

-- name: add_prefix
INSERT INTO prefixes (hash, system, output_schema) VALUES (:hash, :system, :output_schema) ON CONFLICT DO NOTHING

-- name: add_requests
-- Binding NULL costs SQLite's driver several times as much as a number: no body is sent as an empty one.
-- rows: id int, kind text, payload_hash bytes, tasks int, content_bytes int, max_output int, reserve int, body text, parent int, most_input int
INSERT INTO requests (id, lane_id, kind, prefix_hash, payload_hash, render_version, tasks, content_bytes, max_output, reserve, body, parent_attempt_id, most_input, state)
SELECT rows.id, :lane, rows.kind, :prefix, rows.payload_hash, :version, rows.tasks, rows.content_bytes, rows.max_output, rows.reserve, nullif(rows.body, ''), nullif(rows.parent, 0), rows.most_input, :state FROM rows

-- name: add_members
-- rows: request_id int, ordinal int, task_id int, wire_id text, version int
INSERT INTO request_tasks (request_id, ordinal, task_id, wire_id, version)
SELECT rows.request_id, rows.ordinal, rows.task_id, rows.wire_id, rows.version FROM rows

-- name: move_requests
UPDATE requests SET state = :target WHERE id IN (:ids...) AND state = :source RETURNING id

-- name: move_request_group
UPDATE requests SET state = :target WHERE id IN (:ids...) AND state = :source

-- name: claim_requests
-- What was just read goes out. Two plain statements are twice as fast on SQLite as one with RETURNING.
UPDATE requests SET state = :target, sent = sent + 1 WHERE id IN (:ids...) AND state = :source

-- name: delay_requests
-- rows: id int, not_before int
UPDATE requests SET not_before = rows.not_before FROM rows WHERE requests.id = rows.id

-- name: count_losses
UPDATE requests SET lost = lost + 1 WHERE id IN (:ids...)

-- name: forgive_losses
UPDATE requests SET lost = 0 WHERE id IN (:ids...)

-- name: count_sendable_members
-- How many members of each request still wait for just this answer.
SELECT rt.request_id, count(*) FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
WHERE rt.request_id IN (:ids...) AND t.state = 'packed' AND t.version = rt.version AND t.calls < :most
GROUP BY rt.request_id

-- name: member_contents
-- The members of some requests with what rendering needs.
SELECT rt.request_id, rt.wire_id, t.id, t.state, CASE WHEN t.version = rt.version THEN 1 ELSE 0 END, t.calls, b.block_index, b.block_type, b.content
FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE rt.request_id IN (:ids...) ORDER BY rt.request_id, rt.ordinal

-- name: take_members
-- The members of some requests as they stand now.
SELECT rt.request_id, rt.ordinal, rt.wire_id, rt.version, t.id, t.stage_id, t.state, t.version, t.tries, t.calls, t.pack_cap, t.output_floor
FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
WHERE rt.request_id IN (:ids...) ORDER BY rt.request_id, rt.ordinal

-- name: tasks_carried_elsewhere
-- Which of these tasks ride, at their current version, in a live request other than these.
SELECT DISTINCT rt.task_id FROM request_tasks rt
JOIN requests r ON r.id = rt.request_id JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
WHERE rt.task_id IN (:tasks...) AND r.state IN ('queued', 'out') AND r.late = 0 AND rt.version = t.version
  AND NOT (rt.request_id IN (:requests...))

-- name: accept_members
-- All members of requests whose every answer was accepted, at last: an earlier answer may have left other verdicts.
UPDATE request_tasks SET verdict = 'accept', reasons = NULL, gate_version = NULL WHERE request_id IN (:ids...)

-- name: note_verdicts
-- rows: request_id int, ordinal int, verdict text, reasons text, gate_version text
UPDATE request_tasks SET verdict = rows.verdict, reasons = rows.reasons, gate_version = rows.gate_version
FROM rows WHERE request_tasks.request_id = rows.request_id AND request_tasks.ordinal = rows.ordinal

-- name: note_stray_ids
-- rows: id int, stray_ids text
UPDATE requests SET stray_ids = rows.stray_ids FROM rows WHERE requests.id = rows.id

-- name: queued_requests_of_run
SELECT q.id FROM requests q JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND l.run_id = :run AND q.state = 'queued' ORDER BY q.id LIMIT :limit

-- name: unreadable_requests_of_run
-- Requests that are out, whose every answer is here and could not be read; or not judged, where the run is unfit.
SELECT q.id FROM lanes l JOIN requests q ON q.lane_id = l.id
WHERE l.workspace_id = :workspace AND l.run_id = :run AND q.state = 'out'
  AND EXISTS (SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
              WHERE a.request_id = q.id AND a.state = 'answered' AND (p.decoded IS NULL OR :unfit = 1))
  AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'open')
ORDER BY q.id

-- name: count_calls_in_flight
SELECT count(*) FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE a.state = 'open' AND a.worker_id IS NOT NULL AND l.workspace_id = :workspace AND l.run_id = :run

-- name: unsent_requests
-- Requests of a lane that were never sent.
SELECT q.id FROM requests q WHERE q.lane_id = :lane AND q.state = 'queued' AND q.sent = 0 ORDER BY q.id

-- name: unsent_packs
-- By stage, how many of some requests are packs that were never sent, and how many tasks those have.
SELECT l.stage_id, count(*), CAST(sum(q.tasks) AS INTEGER) FROM requests q JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE q.id IN (:ids...) AND q.kind IN ('answer', 'repair') AND NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id)
GROUP BY l.stage_id

-- name: outdated_requests
-- Unsent requests of an older rendering.
SELECT q.id FROM requests q JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND l.id = :lane AND q.state = 'queued' AND q.render_version <> :version AND q.body IS NULL

-- name: calls_after
-- The next requests of a lane, whatever state they are in.
SELECT id FROM requests WHERE lane_id + 0 = :lane AND id > :after ORDER BY id LIMIT :limit

-- name: request_lines
-- A member that was judged and has no verdict was accepted: the usual case is not written down. What nobody could read
-- as an answer was not judged: of that it is not known why the model stopped.
SELECT q.id, q.kind, q.tasks, q.max_output, q.state, q.sent, q.purged_at,
    (SELECT count(*) FROM request_tasks rt WHERE rt.request_id = q.id AND (rt.verdict = 'accept' OR rt.verdict IS NULL
        AND EXISTS (SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
                    WHERE a.request_id = q.id AND a.state = 'settled' AND p.stop IS NOT NULL))),
    (SELECT coalesce(CAST(sum(CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE a.cost END) AS INTEGER), 0) FROM attempts a WHERE a.request_id = q.id),
    (SELECT count(*) FROM attempts a WHERE a.request_id = q.id AND (a.state = 'unknown' OR a.cost_basis = 'presumed')),
    (SELECT max(a.sent_at) FROM attempts a WHERE a.request_id = q.id),
    (SELECT d.title FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
        LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
        JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
        WHERE rt.request_id = q.id ORDER BY rt.ordinal LIMIT 1),
    (SELECT count(DISTINCT d.id) FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
        LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
        JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
        WHERE rt.request_id = q.id),
    q.stray_ids, (SELECT s.name FROM stages s WHERE s.id = l.stage_id), l.model
FROM requests q JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND q.id IN (:ids...) ORDER BY q.id

-- name: get_request
SELECT q.id, l.run_id, l.stage_id, q.kind, q.tasks, q.max_output, q.state, q.sent, q.payload_hash, q.body, q.purged_at, q.stray_ids
FROM requests q JOIN lanes l ON l.id = q.lane_id WHERE l.workspace_id = :workspace AND q.id = :id

-- name: requests_behind_run
-- The calls of a run, and those of other runs that current answers of its tasks were taken from.
SELECT q.id FROM requests q JOIN lanes l ON l.id = q.lane_id WHERE l.workspace_id = :workspace AND l.run_id = :run
UNION SELECT a.request_id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL JOIN attempts a ON a.id = r.attempt_id
WHERE t.workspace_id = :workspace AND t.run_id = :run ORDER BY 1

-- name: runs_behind_run
-- The other runs that current answers of a run's tasks were taken from.
SELECT DISTINCT l.run_id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL JOIN attempts a ON a.id = r.attempt_id
JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE t.workspace_id = :workspace AND t.run_id = :run AND l.run_id <> :run ORDER BY 1

-- name: gate_versions_of_request
-- What accepted the answers of a call, attempt by attempt, the last to do so at the end. In two parts, each with its index.
SELECT r.attempt_id, r.gate_version, r.id FROM request_tasks rt JOIN results r ON r.task_id = rt.task_id AND r.superseded_at IS NOT NULL
WHERE rt.request_id = :id AND r.attempt_id IS NOT NULL
UNION ALL SELECT r.attempt_id, r.gate_version, r.id FROM request_tasks rt JOIN results r ON r.task_id = rt.task_id AND r.superseded_at IS NULL
WHERE rt.request_id = :id AND r.attempt_id IS NOT NULL ORDER BY 3

-- name: newest_refusals
-- Why the newest answers of a stage were refused.
SELECT rt.reasons FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'closed' JOIN request_tasks rt ON rt.request_id = q.id
WHERE l.workspace_id = :workspace AND l.run_id = :run AND l.stage_id = :stage AND rt.verdict IN ('retry', 'fail') AND rt.reasons IS NOT NULL
ORDER BY q.id DESC LIMIT :limit

-- name: verdicts_of_request
-- As in the list: judged and without a verdict is accepted. Where nothing was judged, the reason is why not.
SELECT rt.ordinal, rt.wire_id, rt.task_id, rt.version, t.state,
    CASE WHEN rt.verdict IS NULL AND judged.answers = 1 THEN 'accept' ELSE rt.verdict END,
    CASE WHEN rt.verdict IS NULL AND judged.answers = 0 THEN (SELECT a.error FROM attempts a
        WHERE a.request_id = rt.request_id AND a.error IS NOT NULL ORDER BY a.no DESC LIMIT 1) ELSE rt.reasons END, rt.gate_version
FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
CROSS JOIN (SELECT count(*) AS answers FROM (SELECT 1 FROM attempts a JOIN responses p ON p.attempt_id = a.id
    WHERE a.request_id = :id AND a.state = 'settled' AND p.stop IS NOT NULL LIMIT 1) AS settled) AS judged
WHERE rt.request_id = :id ORDER BY rt.ordinal
