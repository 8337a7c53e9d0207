-- name: add_review
-- One decision of a person; what it found is kept with it, so that it can be taken back.
INSERT INTO reviews (workspace_id, run_id, stage_id, task_id, move, who, at, note, before_result_id, after_result_id, before_data, after_data, before_review, before_reviewer, before_reviewed_at, before_task, undoes, command, bulk)
SELECT t.workspace_id, t.run_id, t.stage_id, t.id, :move, :who, :now, :note, :before_result, :after_result, :before_data, :after_data, :before_review, :before_reviewer, :before_reviewed_at, :before_task, CAST(:undoes AS INTEGER), :command, :bulk
FROM tasks t WHERE t.workspace_id = :workspace AND t.id = :task RETURNING id

-- name: standing_of_task
-- How a task and its current result stand, as a decision finds them.
SELECT t.state, t.tries, t.calls, t.pack_cap, t.error, t.error_kind, t.error_stage, t.error_task, t.waived_at, t.version, r.id, r.data, r.review_state, r.reviewer, r.reviewed_at
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: current_result
SELECT r.id, r.data FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: last_decision
-- The newest decision about a task that was not taken back.
SELECT v.id FROM reviews v WHERE v.workspace_id = :workspace AND v.task_id = :task AND v.undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id)
ORDER BY v.id DESC LIMIT 1

-- name: last_decisions
-- Of each of some tasks the newest decision that was not taken back.
SELECT max(v.id) FROM reviews v WHERE v.workspace_id = :workspace AND v.task_id IN (:ids...) AND v.undoes IS NULL
  AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id)
GROUP BY v.task_id

-- name: decision_to_undo
SELECT v.id, v.task_id, v.move, v.who, v.before_result_id, v.after_result_id, v.before_review, v.before_reviewer, v.before_reviewed_at, v.before_task,
    (SELECT u.id FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id)
FROM reviews v WHERE v.workspace_id = :workspace AND v.id = :id

-- name: rejections_taken_back
-- How a task stood before rejections of one result with one note that were asked, and then undone.
SELECT v.before_task FROM reviews v WHERE v.workspace_id = :workspace AND v.task_id = :task AND v.move = 'reject' AND v.note = :note
  AND v.before_result_id = :result AND v.after_result_id IS NULL AND v.before_task IS NOT NULL
  AND EXISTS (SELECT 1 FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id) ORDER BY v.id

-- name: paid_answer
-- The newest answer to some versions of a question that nobody has judged, and that does not stand.
SELECT r.id FROM tasks t JOIN results r ON r.task_id = t.id AND r.superseded_at IS NOT NULL AND r.data IS NOT NULL
WHERE t.workspace_id = :workspace AND t.id = :task AND r.version IN (:versions...) AND r.origin = 'model' AND r.review_state = 'unreviewed'
ORDER BY r.id DESC LIMIT 1

-- name: decisions_of_task
SELECT v.id, v.run_id, s.name, v.task_id, v.move, v.who, v.at, v.note, v.before_result_id, v.after_result_id, v.before_data, v.after_data, v.undoes,
    (SELECT u.id FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id), v.command,
    (SELECT min(b.id) FROM reviews b WHERE b.workspace_id = :workspace AND b.run_id = v.run_id AND b.bulk = v.bulk)
FROM reviews v JOIN stages s ON s.id = v.stage_id
WHERE v.workspace_id = :workspace AND v.run_id = :run AND v.task_id = :task AND v.id < :before ORDER BY v.id DESC LIMIT :limit

-- name: decisions_of_run
SELECT v.id, v.run_id, s.name, v.task_id, v.move, v.who, v.at, v.note, v.before_result_id, v.after_result_id, v.before_data, v.after_data, v.undoes,
    (SELECT u.id FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id), v.command,
    (SELECT min(b.id) FROM reviews b WHERE b.workspace_id = :workspace AND b.run_id = v.run_id AND b.bulk = v.bulk)
FROM reviews v JOIN stages s ON s.id = v.stage_id
WHERE v.workspace_id = :workspace AND v.run_id = :run AND v.id < :before ORDER BY v.id DESC LIMIT :limit

-- name: bulk_of_decision
-- The run of a decision, and what it shares with all that were made at once with it.
SELECT v.run_id, v.bulk FROM reviews v WHERE v.workspace_id = :workspace AND v.id = :id

-- name: first_of_bulk
SELECT min(v.id) FROM reviews v WHERE v.workspace_id = :workspace AND v.run_id = :run AND v.bulk = :bulk

-- name: standing_of_bulk
-- The decisions of a bulk that nobody has taken back.
SELECT v.id, v.task_id FROM reviews v WHERE v.workspace_id = :workspace AND v.run_id = :run AND v.bulk = :bulk
  AND NOT EXISTS (SELECT 1 FROM reviews u WHERE u.workspace_id = :workspace AND u.undoes = v.id) ORDER BY v.id

-- name: supersede_result
-- A result that makes way for what stood before a decision, whoever confirmed it.
UPDATE results SET superseded_at = :now WHERE id = :id AND superseded_at IS NULL

-- name: reinstate_result
-- A result that stands again; nothing where it was purged.
UPDATE results SET superseded_at = NULL WHERE id = :id AND superseded_at IS NOT NULL AND data IS NOT NULL

-- name: forget_reviewer
UPDATE results SET reviewer = NULL, reviewed_at = NULL WHERE id = :id AND review_state = 'unreviewed'

-- name: restore_task
-- What is known of a task, as it was before a decision; how it is asked next is left plain.
UPDATE tasks SET tries = :tries, calls = :calls, pack_cap = :pack_cap, error = :error, error_kind = :error_kind, error_stage = :error_stage, error_task = CAST(:error_task AS INTEGER), waived_at = CAST(:waived_at AS INTEGER), next_kind = 'answer'
WHERE workspace_id = :workspace AND id = :id

-- name: request_of_result
-- The call that a result came in, which knows what it was made from.
SELECT a.request_id FROM results r JOIN attempts a ON a.id = r.attempt_id WHERE r.id = :id

-- name: withdrawn_critics
-- Critics of a result that were let go when a person decided about it.
SELECT id FROM tasks WHERE workspace_id = :workspace AND judged_result_id = :result AND state = 'cancelled' ORDER BY id

-- name: take_lease
-- An item for one reviewer; nothing where another has it.
INSERT INTO review_leases (task_id, workspace_id, run_id, who, until)
SELECT t.id, t.workspace_id, t.run_id, :who, :until FROM tasks t WHERE t.workspace_id = :workspace AND t.id = :task
ON CONFLICT (task_id) DO UPDATE SET who = excluded.who, until = excluded.until
WHERE review_leases.workspace_id = :workspace AND (review_leases.until <= :now OR review_leases.who = excluded.who) RETURNING task_id

-- name: renew_leases
UPDATE review_leases SET until = :until
WHERE workspace_id = :workspace AND task_id IN (:ids...) AND who = :who AND until > :now RETURNING task_id

-- name: give_back_leases
DELETE FROM review_leases WHERE workspace_id = :workspace AND who = :who AND task_id IN (:ids...)

-- name: give_back_all_leases
DELETE FROM review_leases WHERE workspace_id = :workspace AND who = :who

-- name: end_lease
DELETE FROM review_leases WHERE workspace_id = :workspace AND task_id = :task

-- name: count_leases
SELECT count(*) FROM review_leases WHERE workspace_id = :workspace AND who = :who AND until > :now

-- name: leases_of_tasks
SELECT task_id, who, until FROM review_leases WHERE workspace_id = :workspace AND task_id IN (:ids...) AND until > :now

-- name: leases_of_run
SELECT task_id, who, until FROM review_leases WHERE workspace_id = :workspace AND run_id = :run AND until > :now ORDER BY task_id

-- name: purge_reviews
-- What was written before and after a decision, and why, may quote the document.
UPDATE reviews SET note = '', before_data = NULL, after_data = NULL, before_task = NULL WHERE workspace_id = :workspace AND task_id IN (:tasks...)
