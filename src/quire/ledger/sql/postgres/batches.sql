-- name: due_batches
-- As on SQLite, and another worker's are skipped.
SELECT b.id, b.nonce, b.state, b.lane_id, l.run_id, l.stage_id, l.model, b.credential_id, b.calls, b.tokens, b.size, b.input_ref, b.ref,
    b.end_reason, b.failures, b.created_at, b.creating_at, b.submitted_at, b.cancel_asked_at, b.cancel_sent_at, b.next_at, b.lease_until,
    b.absent_at, b.duplicate_found_at
FROM batches b JOIN lanes l ON l.id = b.lane_id
WHERE b.workspace_id = :workspace AND b.state <> 'draft' AND b.state <> 'collected' AND b.state <> 'abandoned' AND b.next_at <= :now
  AND b.lease_until <= :now ORDER BY b.next_at LIMIT :limit FOR NO KEY UPDATE OF b SKIP LOCKED

-- name: take_lane
-- Of two who would fill the same draft, one does.
SELECT id FROM lanes WHERE workspace_id = :workspace AND id = :id FOR NO KEY UPDATE SKIP LOCKED
