-- name: ready_parts
-- What may be packed of one model's, in subject order: ready, and no live request carries this version.
SELECT t.id FROM tasks t
WHERE t.workspace_id = :workspace AND t.stage_id = :stage AND t.model_no = :model AND t.state = 'ready' AND t.compressing IS NULL
  AND NOT EXISTS (
    SELECT 1 FROM request_tasks rt JOIN requests r ON r.id = rt.request_id
    WHERE rt.task_id = t.id AND rt.version = t.version AND r.state IN ('queued', 'out') AND r.late = 0)
ORDER BY t.id LIMIT :limit

-- name: document_characters_of_tasks
-- How much text some tasks show: of the document each is about, and of those beside it.
SELECT t.id, coalesce(d.conv_total_characters, 0) + coalesce((
    SELECT CAST(sum(x.conv_total_characters) AS INTEGER) FROM task_documents td JOIN documents x ON x.id = td.document_id AND x.workspace_id = :workspace
    WHERE td.task_id = t.id), 0)
FROM tasks t LEFT JOIN documents d ON d.id = t.document_id AND d.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...)

-- name: subjects_of_tasks
-- Tasks with all that is said of them alone.
SELECT t.id, t.version, t.calls, t.pack_cap, t.output_floor, t.next_kind, t.error, t.model_no, t.sample, t.part,
    coalesce(b.block_index, 0), b.block_type, b.content, coalesce(t.document_id, b.document_id), t.judged_result_id,
    t.compression, t.question_hash, coalesce(b.content_id, b.id)
FROM tasks t LEFT JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...) ORDER BY t.id

-- name: parts_of_tasks
SELECT id, part FROM tasks WHERE workspace_id = :workspace AND id IN (:ids...) AND part IS NOT NULL

-- name: contents_of_tasks
SELECT t.id, b.content FROM tasks t JOIN blocks b ON b.id = t.block_id AND b.workspace_id = :workspace
WHERE t.workspace_id = :workspace AND t.id IN (:ids...)

-- name: inputs_of_tasks
-- What some tasks read, in order, with the results that are current.
SELECT ti.task_id, ti.ordinal, s.name, r.id, r.data, coalesce(i.document_id, b.document_id), i.model_no, i.sample, i.state, i.id
FROM task_inputs ti JOIN tasks i ON i.id = ti.input_task_id AND i.workspace_id = :workspace JOIN stages s ON s.id = i.stage_id
LEFT JOIN blocks b ON b.id = i.block_id AND b.workspace_id = :workspace
LEFT JOIN results r ON r.task_id = i.id AND r.superseded_at IS NULL AND i.state IN ('done', 'proposed')
WHERE ti.task_id IN (:ids...) ORDER BY ti.task_id, ti.ordinal

-- name: data_of_results
SELECT id, data FROM results WHERE id IN (:ids...)

-- name: documents_shown_by_tasks
-- Documents that some tasks show beside the one they are about.
SELECT task_id, document_id FROM task_documents WHERE task_id IN (:ids...) ORDER BY task_id, ordinal

-- name: document_titles
SELECT id, title, source_locator FROM documents WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: document_texts
SELECT document_id, content FROM blocks WHERE workspace_id = :workspace AND document_id IN (:ids...) ORDER BY document_id, block_index

-- name: texts_between
-- Some blocks of a document that follow each other.
SELECT block_index, content FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND block_index BETWEEN :first AND :last ORDER BY block_index

-- name: judged_answers
-- What some critics' tasks judge: the task, its result, how it was asked, and the answer as it came.
SELECT c.id, r.task_id, r.id, r.data, rt.used, r.attempt_id, p.decoded, p.codec
FROM tasks c JOIN results r ON r.id = c.judged_result_id
LEFT JOIN attempts a ON a.id = r.attempt_id LEFT JOIN responses p ON p.attempt_id = a.id
LEFT JOIN request_tasks rt ON rt.request_id = a.request_id AND rt.task_id = r.task_id
WHERE c.workspace_id = :workspace AND c.id IN (:ids...) ORDER BY c.id

-- name: results_used_by_members
-- What members of some requests were rendered from.
SELECT request_id, task_id, used FROM request_tasks WHERE request_id IN (:ids...) AND used IS NOT NULL ORDER BY request_id, ordinal

-- name: members_of_requests
-- Who travels in some requests, in order.
SELECT request_id, wire_id, task_id, used FROM request_tasks WHERE request_id IN (:ids...) ORDER BY request_id, ordinal

-- name: note_used_results
-- rows: request_id int, task_id int, used text
UPDATE request_tasks SET used = rows.used FROM rows WHERE request_tasks.request_id = rows.request_id AND request_tasks.task_id = rows.task_id
