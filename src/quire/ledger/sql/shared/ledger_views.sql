-- name: rows_of_runs
SELECT * FROM v_runs WHERE run_id = :run

-- name: rows_of_run_stages
SELECT * FROM v_run_stages WHERE run_id = :run ORDER BY stage_id

-- name: rows_of_requests
SELECT * FROM v_requests WHERE run_id = :run ORDER BY request_id

-- name: rows_of_request_tasks
SELECT * FROM v_request_tasks WHERE run_id = :run ORDER BY request_id, ordinal

-- name: rows_of_attempts
SELECT * FROM v_attempts WHERE run_id = :run ORDER BY attempt_id

-- name: rows_of_responses
-- With what came, what was read of it and what was thought, as they are kept.
SELECT v.*, p.raw, p.decoded, p.reasoning FROM v_responses v JOIN responses p ON p.attempt_id = v.attempt_id WHERE v.run_id = :run ORDER BY v.attempt_id

-- name: rows_of_batches
SELECT * FROM v_batches WHERE run_id = :run ORDER BY batch_id

-- name: rows_of_batch_items
SELECT * FROM v_batch_items WHERE run_id = :run ORDER BY attempt_id

-- name: rows_of_results
SELECT * FROM v_results WHERE run_id = :run ORDER BY result_id

-- name: rows_of_reviews
SELECT * FROM v_reviews WHERE run_id = :run ORDER BY review_id

-- name: rows_of_events
SELECT * FROM v_events WHERE run_id = :run ORDER BY event_id
