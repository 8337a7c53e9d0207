-- name: find_askers
-- Who asks some of a stage's questions, here or in other stages.
SELECT content, stage_id, task_id FROM questions WHERE question = :question AND content IN (:contents...) ORDER BY content, stage_id

-- name: add_questions
-- rows: content int, task_id int
INSERT INTO questions (question, content, stage_id, task_id)
SELECT :question, rows.content, :stage, rows.task_id FROM rows

-- name: take_over_questions
-- rows: question int, content int, stage_id int, task_id int
UPDATE questions SET task_id = rows.task_id
FROM rows WHERE questions.question = rows.question AND questions.content = rows.content AND questions.stage_id = rows.stage_id

-- name: note_questions
-- What tasks ask, once it has been put into words.
-- rows: id int, question_hash bytes
UPDATE tasks SET question_hash = rows.question_hash FROM rows WHERE tasks.id = rows.id

-- name: askers_by_id
-- Tasks that ask what others do, each with the answer that those may take: accepted, whole here, and nobody's but the
-- model's. An answer that was itself taken from elsewhere says where it was given; one that a person approved, who and when.
SELECT t.id, t.stage_id, t.state, t.question_hash, r.id, coalesce(root.id, o.id, r.id), coalesce(root.task_id, o.task_id, t.id), r.attempt_id, r.notes,
    r.review_state, r.reviewer, r.reviewed_at, CASE WHEN r.review_state = 'approved' THEN r.data END
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'model'
    AND r.review_state IN ('unreviewed', 'approved') AND r.data IS NOT NULL AND r.attempt_id IS NOT NULL
LEFT JOIN results o ON o.id = r.reused_from
LEFT JOIN results root ON root.id = o.reused_from -- the copy, in a fork, of what was taken
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) ORDER BY t.id

-- name: asked_questions
SELECT id, question_hash, follows FROM tasks WHERE workspace_id = :workspace AND id IN (:ids...) ORDER BY id

-- name: critics_of_renewed_answers
-- Critics of answers that were asked for once more.
SELECT c.id FROM tasks c JOIN results r ON r.id = c.judged_result_id AND r.version > 1
WHERE c.workspace_id = :workspace AND c.id IN (:ids...) ORDER BY c.id

-- name: costs_of_attempts
-- What each task's share of some calls was.
SELECT a.id, coalesce(a.cost, 0) / (CASE WHEN q.tasks > 0 THEN q.tasks ELSE 1 END)
FROM attempts a JOIN requests q ON q.id = a.request_id WHERE a.id IN (:ids...)

-- name: add_reused_results
-- rows: task_id int, version int, attempt_id int, gate_version text, data text, notes text, reused_from int, origin text, review_state text, reviewer text, reviewed_at int, stage_id int, review_reasons int, review_rank int
INSERT INTO results (task_id, version, attempt_id, gate_version, data, notes, reused_from, created_at, origin, review_state, reviewer, reviewed_at, stage_id, review_reasons, review_rank)
SELECT rows.task_id, rows.version, rows.attempt_id, rows.gate_version, rows.data, rows.notes, rows.reused_from, :created_at, rows.origin, rows.review_state, rows.reviewer, rows.reviewed_at, rows.stage_id, rows.review_reasons, rows.review_rank FROM rows

-- name: edited_results
-- What persons wrote in the place of answers, each with its subject; there are as many as persons write.
SELECT coalesce(r.reused_from, r.id), t.question_hash, d.source_type, d.source_uid, d.source_locator, coalesce(b.locator, t.part, ''), r.data, r.review_state, r.reviewer, r.reviewed_at
FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND t.state = 'done'
LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE r.origin = 'person' AND r.superseded_at IS NULL AND r.data IS NOT NULL ORDER BY r.task_id

-- name: sources_of_tasks
-- What some tasks ask, and of what in which source.
SELECT t.id, t.question_hash, d.source_type, d.source_uid, d.source_locator, coalesce(b.locator, t.part, '')
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) ORDER BY t.id

-- name: follow_tasks
-- rows: id int, leader int
UPDATE tasks SET follows = rows.leader FROM rows WHERE tasks.id = rows.id

-- name: stop_following
UPDATE tasks SET follows = 0 WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: has_followers
SELECT 1 FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND state = 'waiting' AND follows > 0 LIMIT 1

-- name: followers_of_tasks
-- Whether they still wait, their move says: with a condition for it, PostgreSQL may read all that waits.
SELECT id FROM tasks WHERE workspace_id = :workspace AND follows > 0 AND follows IN (:leaders...) ORDER BY id

-- name: followers_in_stage
SELECT id FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage AND state = 'waiting' AND follows > 0 ORDER BY follows LIMIT :limit

-- name: questions_of_tasks
-- What some tasks ask, and the content of the blocks they are about.
SELECT t.id, t.question_hash, coalesce(b.content_id, b.id) FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) ORDER BY t.id

-- name: forget_questions
DELETE FROM questions WHERE question = :question AND content IN (:contents...) AND task_id IN (:tasks...)

-- name: is_asked
SELECT 1 FROM questions WHERE question = :question LIMIT 1

-- name: has_repeats
-- Whether a block of some documents says what an earlier one does, of whatever document.
SELECT 1 FROM blocks WHERE workspace_id = :workspace AND document_id IN (:documents...) AND content_id IS NOT NULL LIMIT 1

-- name: count_contents
-- How many blocks there are in some documents, and how many of them say something of their own.
SELECT count(*), count(DISTINCT coalesce(content_id, id)) FROM blocks WHERE workspace_id = :workspace AND document_id IN (:documents...)

-- name: count_answered
-- How many blocks of some documents were asked about and answered, how many contents those are, and what that cost.
SELECT count(*), count(DISTINCT content), coalesce(sum(cost), 0) FROM (
    SELECT b.id, q.content, max(coalesce(a.cost, 0) / (CASE WHEN c.tasks > 0 THEN c.tasks ELSE 1 END)) AS cost
    FROM blocks b JOIN questions q ON q.question = :question AND q.content = coalesce(b.content_id, b.id)
    JOIN tasks t ON t.id = q.task_id AND t.workspace_id = :workspace AND t.state = 'done'
    JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'model'
        AND r.review_state IN ('unreviewed', 'approved') AND r.data IS NOT NULL
    JOIN attempts a ON a.id = r.attempt_id JOIN requests c ON c.id = a.request_id
    WHERE b.workspace_id = :workspace AND b.document_id IN (:documents...) GROUP BY b.id, q.content) AS answered

-- name: unanswered_sizes
-- The size of every content of some documents that was not asked about and answered, once, in subject order.
SELECT min(b.json_bytes) FROM blocks b
WHERE b.workspace_id = :workspace AND b.document_id IN (:documents...) AND NOT EXISTS (
    SELECT 1 FROM questions q JOIN tasks t ON t.id = q.task_id AND t.workspace_id = :workspace AND t.state = 'done'
    JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'model'
        AND r.review_state IN ('unreviewed', 'approved') AND r.data IS NOT NULL
    WHERE q.question = :question AND q.content = coalesce(b.content_id, b.id))
GROUP BY coalesce(b.content_id, b.id) ORDER BY min(b.document_id), min(b.block_index)

-- name: count_stage_tasks
-- Tasks of some stages by model and document: how many there are, how many have ended, how many may be taken from.
SELECT t.stage_id, t.model_no, t.document_id, count(*),
    sum(CASE WHEN t.state IN ('done', 'failed', 'blocked', 'cancelled') THEN 1 ELSE 0 END),
    sum(CASE WHEN t.state = 'done' AND r.id IS NOT NULL THEN 1 ELSE 0 END)
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'model'
    AND r.review_state IN ('unreviewed', 'approved') AND r.data IS NOT NULL
WHERE t.workspace_id = :workspace AND t.stage_id IN (:stages...)
GROUP BY t.stage_id, t.model_no, t.document_id ORDER BY t.stage_id, t.model_no, t.document_id

-- name: count_blocks_answered_in_stage
-- How many blocks of some documents say what a stage has answers about.
SELECT count(*) FROM blocks b
WHERE b.workspace_id = :workspace AND b.document_id IN (:documents...) AND coalesce(b.content_id, b.id) IN (
    SELECT coalesce(o.content_id, o.id) FROM tasks t JOIN blocks o ON o.id = t.block_id AND o.workspace_id = :workspace
    JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.origin = 'model'
        AND r.review_state IN ('unreviewed', 'approved') AND r.data IS NOT NULL
    WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = :model AND t.state = 'done')
