-- name: outcomes_of_run
-- Every task of a run, stage by stage in subject order, with its current result, or else its last refused answer; without
-- what critics said of answers that made way.
SELECT t.id, s.name, t.state, t.model_no, t.sample, t.part, t.calls, t.tries, t.error, t.error_kind, t.document_id, ti.input_task_id, r.id, r.data, a.id, p.decoded, p.codec
FROM stages s JOIN tasks t ON t.stage_id = s.id AND t.workspace_id = :workspace
LEFT JOIN task_inputs ti ON ti.task_id = t.id AND ti.ordinal = 0
LEFT JOIN results r ON r.task_id = t.id AND r.superseded_at IS NULL
LEFT JOIN attempts a ON a.id = coalesce(r.attempt_id, (
    SELECT max(tried.id) FROM request_tasks rt JOIN attempts tried ON tried.request_id = rt.request_id AND tried.state = 'settled'
    WHERE rt.task_id = t.id))
LEFT JOIN responses p ON p.attempt_id = a.id
WHERE s.run_id = :run AND NOT EXISTS (SELECT 1 FROM results j WHERE j.id = t.judged_result_id AND j.superseded_at IS NOT NULL)
ORDER BY s.id, t.subject_hash

-- name: documents_shown_in_run
-- Documents that tasks of a run show beside the one they are about.
SELECT td.task_id, td.document_id FROM tasks t JOIN task_documents td ON td.task_id = t.id
WHERE t.workspace_id = :workspace AND t.run_id = :run ORDER BY td.task_id, td.ordinal

-- name: all_documents_of_run
-- The documents of a run in order, purged ones too.
SELECT document_id FROM run_documents WHERE run_id = :run ORDER BY ordinal
