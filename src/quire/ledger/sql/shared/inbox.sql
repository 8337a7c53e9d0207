-- name: ranked_inbox_entries
-- The next results of a stage in one state of review and of one rank. A comparison of pairs, to take the later ranks with
-- them, makes SQLite read the rank from its start.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
  AND r.review_rank = CAST(:rank AS INTEGER) AND r.id > CAST(:after AS INTEGER)
ORDER BY r.id LIMIT :limit

-- name: later_inbox_entries
-- The same of later ranks, the most pressing first.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
  AND r.review_rank > CAST(:rank AS INTEGER)
ORDER BY r.review_rank, r.id LIMIT :limit

-- name: newer_inbox_entries
-- The next results of one rank before one, the newest first.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
  AND r.review_rank = CAST(:rank AS INTEGER) AND r.id < CAST(:before AS INTEGER)
ORDER BY r.review_rank DESC, r.id DESC LIMIT :limit

-- name: scored_inbox_entries
-- The next results of one critic's score.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL AND r.critic_score IS NOT NULL
  AND r.critic_score = CAST(:score AS INTEGER) AND r.id > CAST(:after AS INTEGER)
ORDER BY r.id LIMIT :limit

-- name: later_scored_inbox_entries
-- The same of higher scores, the lowest first.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL AND r.critic_score IS NOT NULL
  AND r.critic_score > CAST(:score AS INTEGER)
ORDER BY r.critic_score, r.id LIMIT :limit

-- name: inbox_place_of_task
-- Where a task stands among its stage's.
SELECT stage_id, subject_hash FROM tasks WHERE workspace_id = :workspace AND id = :id

-- name: inbox_entries_by_subject
-- The next tasks of a stage as they stand in the documents, with their current result, whether or not it is wanted: so
-- many are read, however few are.
SELECT coalesce(r.review_rank, -1), coalesce(r.id, 0), t.id, coalesce(r.review_reasons, 0), r.critic_score FROM tasks t
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL AND r.review_state IN (:reviews...)
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.subject_hash > :after
ORDER BY t.subject_hash LIMIT :limit

-- name: count_inbox
-- How many results of a stage have one rank, counted up to a bound; the order keeps PostgreSQL from reading them all.
SELECT count(*) FROM (
    SELECT 1 FROM results r WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
      AND r.review_rank = CAST(:rank AS INTEGER) ORDER BY r.review_rank, r.id LIMIT :most) AS counted

-- name: count_decided
SELECT count(*) FROM (
    SELECT 1 FROM results r WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
    ORDER BY r.review_rank, r.id LIMIT :most) AS counted

-- name: inbox_details
-- What a list shows of some results.
SELECT r.id, t.id, s.name, d.id, d.title, b.block_index, t.state, r.review_state, r.reviewer, r.reviewed_at, substr(b.content, 1, 120), r.data
FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace
JOIN stages s ON s.id = t.stage_id
LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
LEFT JOIN documents d ON d.id = coalesce(b.document_id, t.document_id) AND d.workspace_id = :workspace
WHERE r.id IN (:ids...) AND r.superseded_at IS NULL

-- name: inbox_texts
-- The texts of the blocks that some results are about.
SELECT r.id, b.content FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace
JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE r.id IN (:ids...)

-- name: rank_criticised
-- rows: task_id int, bits int, score int
-- What critics said of current results, among the other reasons to look at them; from here on they are in the inbox.
UPDATE results SET critic_score = rows.score, review_reasons = (review_reasons & 60) | rows.bits,
    review_rank = CASE WHEN rows.bits & 1 > 0 THEN 0 WHEN rows.bits & 2 > 0 THEN 1 WHEN review_reasons & 4 > 0 THEN 2 WHEN review_reasons & 8 > 0 THEN 3
        WHEN review_reasons & 16 > 0 THEN 4 WHEN review_reasons & 32 > 0 THEN 5 ELSE 6 END
FROM rows WHERE results.task_id = rows.task_id AND results.superseded_at IS NULL

-- name: flag_disagreement
-- Results whose subject was answered in several ways, or is not any more; the rank of what is not in the inbox stays unset.
UPDATE results SET review_reasons = (review_reasons & 55) | :bit,
    review_rank = CASE WHEN review_rank IS NULL THEN NULL WHEN review_reasons & 1 > 0 THEN 0 WHEN review_reasons & 2 > 0 THEN 1 WHEN review_reasons & 4 > 0 THEN 2
        WHEN :bit > 0 THEN 3 WHEN review_reasons & 16 > 0 THEN 4 WHEN review_reasons & 32 > 0 THEN 5 ELSE 6 END
WHERE id IN (:ids...) AND review_reasons & 8 <> :bit

-- name: flag_stale_readers
-- Results of tasks that were marked just now because an input changed.
UPDATE results SET review_reasons = review_reasons + 32, review_rank = CASE WHEN review_rank > 5 THEN 5 ELSE review_rank END
WHERE superseded_at IS NULL AND review_reasons < 32 AND task_id IN (
    SELECT t.id FROM task_inputs ti JOIN tasks t ON t.id = ti.task_id AND t.workspace_id = :workspace
    WHERE ti.input_task_id IN (:ids...) AND t.stale_since IS NOT NULL)

-- name: flag_stale_stage
UPDATE results SET review_reasons = review_reasons + 32, review_rank = CASE WHEN review_rank > 5 THEN 5 ELSE review_rank END
WHERE superseded_at IS NULL AND review_reasons < 32 AND task_id IN (
    SELECT t.id FROM tasks t WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.stale_since IS NOT NULL)

-- name: flag_stale_tasks
-- Results of tasks that are marked, or not any more.
UPDATE results SET review_reasons = review_reasons + CASE WHEN review_reasons < 32 THEN 32 ELSE -32 END,
    review_rank = CASE WHEN review_rank IS NULL THEN NULL WHEN review_reasons = 0 THEN 5 WHEN review_reasons = 32 THEN 6 ELSE review_rank END
WHERE superseded_at IS NULL AND task_id IN (:ids...) AND CASE WHEN review_reasons < 32 THEN 0 ELSE 1 END <> (
    SELECT CASE WHEN t.stale_since IS NULL THEN 0 ELSE 1 END FROM tasks t WHERE t.workspace_id = :workspace AND t.id = results.task_id)

-- name: flag_asked_again
-- New results of tasks whose earlier one a person rejected.
UPDATE results SET review_reasons = review_reasons | 4, review_rank = CASE WHEN review_rank > 2 THEN 2 ELSE review_rank END
WHERE superseded_at IS NULL AND task_id IN (:ids...) AND EXISTS (
    SELECT 1 FROM results e WHERE e.task_id = results.task_id AND e.review_state = 'rejected')

-- name: subject_keys
-- What tells apart what some tasks are about.
SELECT id, coalesce(block_id, 0), coalesce(group_id, 0), coalesce(document_id, 0), coalesce(part, '')
FROM tasks WHERE workspace_id = :workspace AND id IN (:ids...) ORDER BY id

-- name: answers_about_same_block
-- Current answers of a stage about the blocks of some tasks, whoever gave them.
SELECT t.id, a.id, a.model_no, a.sample, coalesce(a.part, ''), r.id, r.data FROM tasks t
JOIN tasks a ON a.block_id = t.block_id AND a.workspace_id = :workspace AND a.stage_id + 0 = t.stage_id AND coalesce(a.part, '') = coalesce(t.part, '')
JOIN results r ON r.task_id = a.id AND r.superseded_at IS NULL AND r.data IS NOT NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.block_id IS NOT NULL ORDER BY t.id, a.id

-- name: answers_about_same_group
-- The same about a result.
SELECT t.id, a.id, a.model_no, a.sample, coalesce(a.part, ''), r.id, r.data FROM tasks t
JOIN tasks a ON a.stage_id = t.stage_id AND a.group_id = t.group_id AND a.workspace_id = :workspace AND coalesce(a.part, '') = coalesce(t.part, '')
JOIN results r ON r.task_id = a.id AND r.superseded_at IS NULL AND r.data IS NOT NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.block_id IS NULL AND t.group_id IS NOT NULL ORDER BY t.id, a.id

-- name: answers_about_same_document
-- The same about a document, or a part of it.
SELECT t.id, a.id, a.model_no, a.sample, coalesce(a.part, ''), r.id, r.data FROM tasks t
JOIN tasks a ON a.document_id = t.document_id AND a.workspace_id = :workspace AND a.stage_id + 0 = t.stage_id AND a.block_id IS NULL AND coalesce(a.part, '') = coalesce(t.part, '')
JOIN results r ON r.task_id = a.id AND r.superseded_at IS NULL AND r.data IS NOT NULL
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) AND t.block_id IS NULL AND t.group_id IS NULL AND t.document_id IS NOT NULL ORDER BY t.id, a.id

-- name: add_late_result
-- An answer that came after a person had taken back that it was asked for: paid for, kept, and not current.
INSERT INTO results (task_id, version, attempt_id, gate_version, data, notes, created_at, superseded_at, origin, stage_id, review_reasons, review_rank)
SELECT t.id, CAST(:version AS INTEGER), CAST(:attempt AS INTEGER), :gate_version, :data, :notes, :now, :now, 'model', t.stage_id, CAST(:reasons AS INTEGER), CAST(:rank AS INTEGER)
FROM tasks t WHERE t.workspace_id = :workspace AND t.id = :task AND NOT EXISTS (SELECT 1 FROM results k WHERE k.task_id = :task AND k.attempt_id = :attempt)

-- name: review_row
-- One task with all that a person who decides about it is shown.
SELECT t.run_id, t.stage_id, t.state, t.model_no, t.part, t.stale_since, t.block_id, t.document_id, r.id, r.data, r.notes, r.review_state, r.reviewer, r.reviewed_at, r.review_reasons, r.critic_score
FROM tasks t LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
WHERE t.workspace_id = :workspace AND t.id = :id

-- name: rejected_tasks
-- Those of some tasks of which a person rejected a result: they were asked again.
SELECT DISTINCT r.task_id FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace
WHERE r.task_id IN (:ids...) AND r.review_state = 'rejected'

-- name: source_of_block
SELECT d.id, d.title, b.block_index, b.block_type, b.headings, b.content, d.source_type
FROM blocks b JOIN documents d ON d.id = b.document_id AND d.workspace_id = :workspace
WHERE b.workspace_id = :workspace AND b.id = :block

-- name: neighbour_blocks
SELECT block_index, block_type, substr(content, 1, 2000) FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND block_index >= :first AND block_index <= :last ORDER BY block_index

-- name: versions_of_task
SELECT v.id, v.version, v.origin, v.data, v.review_state, v.reviewer, v.reviewed_at, v.created_at, v.superseded_at FROM (
    SELECT r.* FROM results r WHERE r.task_id = :task AND r.superseded_at IS NULL
    UNION ALL SELECT r.* FROM results r WHERE r.task_id = :task AND r.superseded_at IS NOT NULL) AS v
JOIN tasks t ON t.id = v.task_id AND t.workspace_id = :workspace ORDER BY v.id DESC LIMIT :limit

-- name: last_calls_of_tasks
-- The call that was answered last about each task, or gave the answer that was taken for it: what it was about, and
-- what it took; also what the pieces cost that came before it.
SELECT t.id, t.model_no, t.pack_cap, l.route, q.tasks, q.content_bytes, coalesce(b.json_bytes, 0),
    coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens, 0), coalesce(a.cached_tokens, 0), a.output_tokens,
    coalesce((SELECT CAST(sum(c.cost) AS INTEGER) FROM pieces p JOIN attempts c ON c.id = p.attempt_id
        WHERE p.task_id = t.id AND p.version = t.version AND p.attempt_id <> a.id), 0)
FROM tasks t JOIN attempts a ON a.id = (
    SELECT max(s.id) FROM request_tasks rt JOIN attempts s ON s.request_id = rt.request_id
    WHERE rt.task_id IN (t.id, (
        SELECT coalesce(root.task_id, o.task_id) FROM results r JOIN results o ON o.id = r.reused_from LEFT JOIN results root ON root.id = o.reused_from
        WHERE r.task_id = t.id AND r.superseded_at IS NULL))
      AND s.state = 'settled' AND s.output_tokens > 0)
JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace
LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...)

-- name: critics_of_tasks
-- Those of one critic that were asked about results of some tasks.
SELECT c.id FROM (
    SELECT r.id FROM results r WHERE r.task_id IN (:ids...) AND r.superseded_at IS NULL
    UNION ALL SELECT r.id FROM results r WHERE r.task_id IN (:ids...) AND r.superseded_at IS NOT NULL) AS v
JOIN tasks c ON c.judged_result_id = v.id AND c.workspace_id = :workspace AND +c.stage_id = :critic
