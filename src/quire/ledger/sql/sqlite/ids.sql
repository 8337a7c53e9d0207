-- name: last_documents_id
SELECT coalesce(max(id), 0) FROM documents -- every workspace: keys are shared

-- name: last_blocks_id
SELECT coalesce(max(id), 0) FROM blocks -- every workspace: keys are shared

-- name: last_tasks_id
SELECT coalesce(max(id), 0) FROM tasks -- every workspace: keys are shared

-- name: last_requests_id
SELECT coalesce(max(id), 0) FROM requests

-- name: last_attempts_id
SELECT coalesce(max(id), 0) FROM attempts
