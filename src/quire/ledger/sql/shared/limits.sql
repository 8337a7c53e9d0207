-- name: add_limit_level
INSERT INTO limit_levels (workspace_id, model, credential_id, at, requests, input, output, total)
VALUES (:workspace, :model, :credential, :at, :requests, :input, :output, :total) ON CONFLICT DO NOTHING

-- name: take_limit_level
-- What is left, taken for this transaction.
SELECT at, requests, input, output, total, most_requests, most_input, most_output, most_total, learnt_at, learnt_rate
FROM limit_levels
WHERE workspace_id = :workspace AND model = :model AND credential_id = :credential

-- name: set_limit_level
UPDATE limit_levels SET at = :at, requests = :requests, input = :input, output = :output, total = :total
WHERE workspace_id = :workspace AND model = :model AND credential_id = :credential

-- name: learn_limits
-- What the provider's headers said; a limit they did not mention stays as it was, unless that has lapsed.
UPDATE limit_levels SET learnt_at = :now,
    most_requests = coalesce(:requests, CASE WHEN learnt_at >= :since THEN most_requests END),
    most_input = coalesce(:input, CASE WHEN learnt_at >= :since THEN most_input END),
    most_output = coalesce(:output, CASE WHEN learnt_at >= :since THEN most_output END),
    most_total = coalesce(:total, CASE WHEN learnt_at >= :since THEN most_total END)
WHERE workspace_id = :workspace AND model = :model AND credential_id = :credential

-- name: set_learnt_rate
UPDATE limit_levels SET learnt_rate = :rate
WHERE workspace_id = :workspace AND model = :model AND credential_id = :credential

-- name: list_learnt_rates
SELECT model, credential_id, learnt_rate FROM limit_levels
WHERE workspace_id = :workspace AND learnt_rate <> '' ORDER BY model, credential_id

-- name: list_limit_levels
SELECT model, credential_id, at, requests, input, output, total, most_requests, most_input, most_output, most_total, learnt_at
FROM limit_levels WHERE workspace_id = :workspace ORDER BY model, credential_id

-- name: add_prefix_cache
INSERT INTO prefix_caches (workspace_id, prefix_hash, model, credential_id, primed_at, priming_until)
VALUES (:workspace, :prefix, :model, :credential, 0, 0) ON CONFLICT DO NOTHING

-- name: get_prefix_cache
SELECT primed_at, priming_until FROM prefix_caches
WHERE workspace_id = :workspace AND prefix_hash = :prefix AND model = :model AND credential_id = :credential

-- name: start_priming
-- Only one of those who try at once may.
UPDATE prefix_caches SET priming_until = :until
WHERE workspace_id = :workspace AND prefix_hash = :prefix AND model = :model AND credential_id = :credential
  AND (priming_until <= :now OR priming_until > :until + (:until - :now))  -- or it was set by a clock that was ahead

-- name: end_priming
-- An answer shows that the prefix is kept (primed_at), or the primer failed and another may try (0 leaves primed_at).
UPDATE prefix_caches SET priming_until = 0, primed_at = CASE WHEN :primed > primed_at THEN :primed ELSE primed_at END
WHERE workspace_id = :workspace AND prefix_hash = :prefix AND model = :model AND credential_id = :credential
