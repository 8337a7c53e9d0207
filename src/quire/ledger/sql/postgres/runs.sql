-- name: lock_stage
-- The stage's cursor, taken for this transaction: two workers never expand the same part.
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE id = :id FOR NO KEY UPDATE

-- name: take_stage
-- As above, unless another worker has it: that one expands, and nobody waits.
SELECT id, run_id, name, state, cursor_document, cursor_block, expanded FROM stages WHERE id = :id FOR NO KEY UPDATE SKIP LOCKED

-- name: lock_key
-- Whoever orders the same waits until this transaction ends.
SELECT pg_advisory_xact_lock(:key)
