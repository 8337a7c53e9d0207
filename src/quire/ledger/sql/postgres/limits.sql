-- name: take_limit_level
-- What is left, taken for this transaction: others who want some wait for its end.
SELECT at, requests, input, output, total, most_requests, most_input, most_output, most_total, learnt_at, learnt_rate
FROM limit_levels
WHERE workspace_id = :workspace AND model = :model AND credential_id = :credential FOR NO KEY UPDATE
