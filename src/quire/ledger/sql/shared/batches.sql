-- name: add_batch
INSERT INTO batches (workspace_id, nonce, lane_id, state, created_at) VALUES (:workspace, '', :lane, :state, :now) RETURNING id

-- name: get_batch
SELECT b.id, b.nonce, b.state, b.lane_id, l.run_id, l.stage_id, l.model, b.credential_id, b.calls, b.tokens, b.size, b.input_ref, b.ref,
    b.end_reason, b.failures, b.created_at, b.creating_at, b.submitted_at, b.cancel_asked_at, b.cancel_sent_at, b.next_at, b.lease_until,
    b.absent_at, b.duplicate_found_at
FROM batches b JOIN lanes l ON l.id = b.lane_id WHERE b.workspace_id = :workspace AND b.id = :id

-- name: draft_of_lane
SELECT b.id, b.nonce, b.state, b.lane_id, l.run_id, l.stage_id, l.model, b.credential_id, b.calls, b.tokens, b.size, b.input_ref, b.ref,
    b.end_reason, b.failures, b.created_at, b.creating_at, b.submitted_at, b.cancel_asked_at, b.cancel_sent_at, b.next_at, b.lease_until,
    b.absent_at, b.duplicate_found_at
FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND b.lane_id = :lane AND b.state = 'draft' ORDER BY b.id LIMIT 1

-- name: due_batches
-- What something is to be done about now, by nobody else.
SELECT b.id, b.nonce, b.state, b.lane_id, l.run_id, l.stage_id, l.model, b.credential_id, b.calls, b.tokens, b.size, b.input_ref, b.ref,
    b.end_reason, b.failures, b.created_at, b.creating_at, b.submitted_at, b.cancel_asked_at, b.cancel_sent_at, b.next_at, b.lease_until,
    b.absent_at, b.duplicate_found_at
FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND b.state <> 'draft' AND b.state <> 'collected' AND b.state <> 'abandoned' AND b.next_at <= :now
  AND b.lease_until <= :now ORDER BY b.next_at LIMIT :limit

-- name: lease_batch
UPDATE batches SET lease_until = :until, lease_by = :worker
WHERE workspace_id = :workspace AND id = :id AND (lease_until <= :now OR lease_by = :worker)

-- name: end_batch_lease
UPDATE batches SET lease_until = 0, lease_by = NULL WHERE workspace_id = :workspace AND id = :id AND lease_by = :worker

-- name: end_leases_of_workers
UPDATE batches SET lease_until = 0, lease_by = NULL WHERE lease_by IN (:workers...) -- of every workspace

-- name: grow_batch
UPDATE batches SET calls = calls + :calls, tokens = tokens + :tokens, size = size + :size
WHERE workspace_id = :workspace AND id = :id

-- name: move_batch
UPDATE batches SET state = :target
WHERE workspace_id = :workspace AND id IN (:ids...) AND state = :source RETURNING id

-- name: mark_batch_absent
-- It was taken for never made: should it show after all, it was made twice.
UPDATE batches SET absent_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: mark_duplicate_found
UPDATE batches SET duplicate_found_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: note_submission
UPDATE batches SET nonce = :nonce, credential_id = :credential, input_ref = '', creating_at = NULL WHERE workspace_id = :workspace AND id = :id

-- name: add_nonce
INSERT INTO batch_nonces (nonce, batch_id, made_at) VALUES (:nonce, :id, :now)

-- name: nonces_of_batch
SELECT nonce FROM batch_nonces WHERE batch_id = :id

-- name: mark_batch_creating
-- The last thing that is written before the provider is asked to make it.
UPDATE batches SET input_ref = :input_ref, creating_at = :now, calls = :calls, size = :size
WHERE workspace_id = :workspace AND id = :id AND nonce = :nonce AND state = 'submitting'

-- name: set_provider_ref
-- The provider has it.
UPDATE batches SET ref = :ref, submitted_at = :now, next_at = :next, failures = 0, problem = '', trouble = 'none'
WHERE workspace_id = :workspace AND id = :id

-- name: delay_batch
UPDATE batches SET next_at = :next, problem = :problem, trouble = :trouble, failures = failures + :failed WHERE workspace_id = :workspace AND id = :id

-- name: note_batch_status
-- What the provider said when it was asked.
UPDATE batches SET counts = :counts, problem = :problem, trouble = :trouble, next_at = :next,
    failures = CASE WHEN state = 'open' THEN 0 ELSE failures END WHERE workspace_id = :workspace AND id = :id

-- name: end_batch
UPDATE batches SET end_reason = :reason, ended_at = :now, next_at = 0, failures = 0 WHERE workspace_id = :workspace AND id = :id

-- name: count_batch_rows
UPDATE batches SET duplicates = duplicates + :duplicates, strangers = strangers + :strangers, missing = missing + :missing,
    unread = unread + :unread
WHERE workspace_id = :workspace AND id = :id

-- name: keep_line
INSERT INTO batch_lines (batch_id, digest, line, kept_at) VALUES (:batch, :digest, :line, :now) ON CONFLICT DO NOTHING

-- name: unreadable_lines
SELECT n.line FROM batch_lines n JOIN batches b ON b.id = n.batch_id AND b.workspace_id = :workspace
WHERE n.batch_id = :batch ORDER BY n.digest

-- name: batches_with_unreadable_lines
-- Batches that are over, and keep lines that named no call when they came.
SELECT b.id FROM batches b WHERE b.workspace_id = :workspace AND b.state IN ('collected', 'abandoned')
  AND b.unread > 0 AND EXISTS (SELECT 1 FROM batch_lines n WHERE n.batch_id = b.id) ORDER BY b.id

-- name: drop_line
DELETE FROM batch_lines WHERE batch_id = :batch AND digest = :digest

-- name: count_unreadable_lines
SELECT batch_id, count(*) FROM batch_lines WHERE batch_id IN (:ids...) GROUP BY batch_id

-- name: finish_batch
UPDATE batches SET collected_at = :now, lease_until = 0, lease_by = NULL WHERE workspace_id = :workspace AND id = :id

-- name: ask_cancel_batch
UPDATE batches SET cancel_asked_at = coalesce(cancel_asked_at, :now), next_at = 0
WHERE workspace_id = :workspace AND id = :id AND (state = 'open' OR state = 'submitting' OR state = 'unknown')

-- name: ask_cancel_batches_of_run
UPDATE batches SET cancel_asked_at = :now, next_at = 0
WHERE workspace_id = :workspace AND lane_id IN (SELECT id FROM lanes WHERE workspace_id = :workspace AND run_id = :run)
  AND (state = 'open' OR state = 'submitting' OR state = 'unknown') AND cancel_asked_at IS NULL

-- name: note_cancel_sent
UPDATE batches SET cancel_sent_at = :now WHERE workspace_id = :workspace AND id = :id

-- name: drafts_of_run
SELECT b.id FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND l.run_id = :run AND b.state = 'draft' ORDER BY b.id

-- name: poll_batches_now
-- A person wants to know now.
UPDATE batches SET next_at = 0 WHERE workspace_id = :workspace
  AND lane_id IN (SELECT id FROM lanes WHERE workspace_id = :workspace AND run_id = :run) AND (state = 'open' OR state = 'unknown' OR state = 'draft')

-- name: queued_tokens
-- What the provider still has to work off for one model and key.
SELECT coalesce(CAST(sum(b.tokens) AS INTEGER), 0) FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND l.model = :model AND b.credential_id = :credential
  AND (b.state = 'submitting' OR b.state = 'unknown' OR b.state = 'open')

-- name: count_batch_jobs
-- Batches of one model and key that the provider has, or is about to have: drafts too, or two would be made at once.
SELECT count(*) FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND l.model = :model
  AND ((b.credential_id = :credential AND (b.state = 'submitting' OR b.state = 'unknown' OR b.state = 'open')) OR b.state = 'draft')

-- name: list_batch_loads
SELECT l.model, b.credential_id, count(*), coalesce(CAST(sum(b.tokens) AS INTEGER), 0)
FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND (b.state = 'submitting' OR b.state = 'unknown' OR b.state = 'open')
GROUP BY l.model, b.credential_id

-- name: count_unacknowledged_batches
-- Batches of a key of which nobody knows yet whether the provider has them.
SELECT count(*) FROM batches WHERE workspace_id = :workspace AND credential_id = :credential AND (state = 'submitting' OR state = 'unknown')

-- name: open_batches_of_lane
SELECT id FROM batches WHERE workspace_id = :workspace AND lane_id = :lane AND (state = 'submitting' OR state = 'unknown' OR state = 'open') ORDER BY id

-- name: refs_of_credential
-- Batches that are known by name.
SELECT ref FROM batches WHERE workspace_id = :workspace AND credential_id = :credential AND ref <> ''

-- name: add_batch_attempts
-- rows: id int, request_id int, no int, batch_id int, provider text, model text, params text, sent_at int, reserved int, slice_id int, state text
INSERT INTO attempts (id, request_id, no, batch_id, provider, model, params, sent_at, reserved, slice_id, state)
SELECT rows.id, rows.request_id, rows.no, rows.batch_id, rows.provider, rows.model, rows.params, rows.sent_at, rows.reserved, rows.slice_id, rows.state FROM rows

-- name: sign_attempts
-- Who sends them, and when: known only when the batch is submitted.
UPDATE attempts SET credential_id = :credential, sent_at = :now WHERE batch_id = :batch AND state = 'open'

-- name: drafted_calls
-- What a batch carries, in order, a part at a time.
SELECT a.id, q.id, q.lane_id, q.payload_hash, q.render_version, q.tasks, q.content_bytes, q.max_output, q.reserve, q.sent, q.lost, q.body, q.parent_attempt_id, q.most_input
FROM attempts a JOIN requests q ON q.id = a.request_id
WHERE a.batch_id = :batch AND a.id > :after AND a.state = 'open' ORDER BY a.id LIMIT :limit

-- name: open_attempts_of_batch
SELECT a.id, a.request_id, a.no, a.state, a.reserved, l.id, l.run_id, l.stage_id, q.state, q.tasks, q.sent, a.slice_id
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
WHERE a.batch_id = :batch AND a.state = 'open' ORDER BY a.id LIMIT :limit

-- name: attempt_states_of_batch
-- Which of these are its own, and how they stand.
SELECT a.id, a.state FROM attempts a WHERE a.batch_id = :batch AND a.id IN (:ids...)

-- name: is_batch_answered
-- One answer to a call of a batch.
SELECT 1 FROM attempts a WHERE a.batch_id = :batch AND a.state IN ('answered', 'settled') LIMIT 1

-- name: most_sendings
-- Of a call of a batch, as it stood when it was sent in it.
SELECT coalesce(max(a.no), 0) FROM attempts a WHERE a.batch_id = :batch

-- name: list_batches
SELECT b.id, l.run_id, l.model, b.state, b.end_reason, b.ref, c.source, CASE WHEN c.person <> '' THEN c.name || ' of ' || c.person ELSE c.name END, c.tail, b.calls, b.tokens, b.counts,
    b.duplicates, b.strangers, b.missing, b.created_at, b.submitted_at, b.next_at, b.ended_at, b.problem,
    CASE WHEN b.cancel_asked_at IS NULL THEN 0 ELSE 1 END, b.nonce, b.unread
FROM batches b JOIN lanes l ON l.id = b.lane_id LEFT JOIN credentials c ON c.id = b.credential_id AND c.workspace_id = :workspace
WHERE b.workspace_id = :workspace AND (:run = 0 OR l.run_id = :run) AND (:batch = 0 OR b.id = :batch) ORDER BY b.id DESC LIMIT :limit

-- name: counts_of_batches
-- Of their attempts, by how they stand, with the tasks they carried.
SELECT a.batch_id, a.state, count(*), coalesce(CAST(sum(q.tasks) AS INTEGER), 0), coalesce(CAST(sum(a.cost) AS INTEGER), 0)
FROM attempts a JOIN requests q ON q.id = a.request_id WHERE a.batch_id IN (:ids...) GROUP BY a.batch_id, a.state

-- name: uncollected_batches
-- How many batches of a run are not collected yet, and when the next is looked at.
SELECT count(*), min(b.next_at) FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND l.run_id = :run AND b.state <> 'collected' AND b.state <> 'abandoned'

-- name: redirect_requests
-- Queued requests travel another way.
UPDATE requests SET lane_id = :target WHERE lane_id = :lane AND state = 'queued'

-- name: mark_requests_late
-- Calls out in batches when the deadline came: their tasks may go out elsewhere.
UPDATE requests SET late = 1
WHERE id IN (SELECT request_id FROM attempts WHERE batch_id = :batch AND state = 'open') AND state = 'out'

-- name: tasks_in_late_requests
SELECT DISTINCT t.id FROM attempts a JOIN requests q ON q.id = a.request_id AND q.state = 'out' AND q.late = 1
JOIN request_tasks rt ON rt.request_id = q.id JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
WHERE a.batch_id = :batch AND a.state = 'open' AND t.state = 'packed' AND t.version = rt.version ORDER BY t.id LIMIT :limit

-- name: count_failures
-- Sendings that the provider broke down at count as those that nobody knows the end of.
UPDATE requests SET lost = lost + 1 WHERE id IN (:ids...) RETURNING id, lost

-- name: serve_lane
-- Of the lanes to one model of a stage, new packs go to this one.
UPDATE lanes SET serves = CASE WHEN id = :lane THEN 1 ELSE 0 END
WHERE workspace_id = :workspace
  AND stage_id = (SELECT o.stage_id FROM lanes o WHERE o.workspace_id = :workspace AND o.id = :lane)
  AND model = (SELECT o.model FROM lanes o WHERE o.workspace_id = :workspace AND o.id = :lane)

-- name: has_unreadable_lines
-- One line that names no call, of any batch of a run.
SELECT 1 FROM lanes l JOIN batches b ON b.lane_id = l.id JOIN batch_lines n ON n.batch_id = b.id
WHERE l.workspace_id = :workspace AND l.run_id = :run LIMIT 1

-- name: late_requests
SELECT id FROM requests WHERE id IN (:ids...) AND late = 1

-- name: take_lane
-- SQLite has one writer: nobody else can be at it.
SELECT id FROM lanes WHERE workspace_id = :workspace AND id = :id

-- name: count_uncollected_of_ended_runs
-- What providers still have of runs that have ended, as far as nothing is known against the next look.
SELECT count(*) FROM batches b JOIN lanes l ON l.id = b.lane_id JOIN runs r ON r.id = l.run_id
WHERE b.workspace_id = :workspace AND b.state IN ('unknown', 'open', 'ended') AND b.trouble = 'none' AND r.state <> 'running'
