-- name: add_webhook
INSERT INTO webhooks (workspace_id, uid, url, notifications, run_id, sealed, created_at)
VALUES (:workspace, :uid, :url, :notifications, :run, :sealed, :now) RETURNING id

-- name: list_webhooks
-- Every webhook, with how many deliveries wait and how many were given up.
SELECT w.id, w.uid, w.url, w.notifications, w.run_id, w.sealed, w.created_at, w.delivered, w.delivered_at, w.failures, w.problem, w.next_at,
    (SELECT count(*) FROM outbox o WHERE o.webhook_id = w.id AND o.given_up_at IS NULL),
    (SELECT count(*) FROM outbox o WHERE o.webhook_id = w.id AND o.given_up_at IS NOT NULL)
FROM webhooks w WHERE w.workspace_id = :workspace ORDER BY w.id

-- name: remove_webhook
DELETE FROM webhooks WHERE workspace_id = :workspace AND id = :id

-- name: empty_outbox
-- What a webhook that goes was still to be told.
DELETE FROM outbox WHERE webhook_id IN (SELECT id FROM webhooks WHERE workspace_id = :workspace AND id = :id)

-- name: fill_outbox
-- Who is to be told of an event, in the transaction that writes it.
INSERT INTO outbox (webhook_id, event_id) SELECT w.id, e.id FROM events e JOIN webhooks w ON w.workspace_id = e.workspace_id
WHERE e.id = :event AND (w.run_id IS NULL OR w.run_id = e.run_id) AND (w.notifications = '' OR w.notifications LIKE :pattern)

-- name: due_deliveries
-- The oldest thing that each of some webhooks is to be told; later ones wait for it.
SELECT w.id, w.uid, w.url, w.sealed, e.id, o.tries, e.at, e.kind, e.fields, e.run_id
FROM webhooks w JOIN outbox o ON o.webhook_id = w.id JOIN events e ON e.id = o.event_id AND e.workspace_id = :workspace
WHERE w.workspace_id = :workspace AND w.id IN (:ids...)
  AND o.event_id = (SELECT min(f.event_id) FROM outbox f WHERE f.webhook_id = w.id AND f.given_up_at IS NULL)
ORDER BY w.id

-- name: lease_webhooks
-- By compare-and-set: of several workers one delivers.
UPDATE webhooks SET lease_until = :until WHERE workspace_id = :workspace AND next_at <= :now AND lease_until <= :now
  AND EXISTS (SELECT 1 FROM outbox o WHERE o.webhook_id = webhooks.id AND o.given_up_at IS NULL) RETURNING id

-- name: release_webhooks
UPDATE webhooks SET lease_until = 0 WHERE workspace_id = :workspace AND id IN (:ids...)

-- name: is_delivery_due
SELECT 1 FROM webhooks w WHERE w.workspace_id = :workspace AND w.next_at <= :now AND w.lease_until <= :now
  AND EXISTS (SELECT 1 FROM outbox o WHERE o.webhook_id = w.id AND o.given_up_at IS NULL) LIMIT 1

-- name: note_delivery
UPDATE webhooks SET delivered = delivered + 1, delivered_at = :now, failures = 0, problem = NULL, next_at = 0, lease_until = 0
WHERE workspace_id = :workspace AND id = :id

-- name: remove_delivery
DELETE FROM outbox WHERE webhook_id = :webhook AND event_id = :event

-- name: note_failed_delivery
UPDATE webhooks SET failures = failures + 1, problem = :problem, next_at = :next_at, lease_until = 0
WHERE workspace_id = :workspace AND id = :id

-- name: count_failed_try
UPDATE outbox SET tries = tries + 1, given_up_at = :given_up_at WHERE webhook_id = :webhook AND event_id = :event

-- name: failures_of_webhook
SELECT failures FROM webhooks WHERE workspace_id = :workspace AND id = :id
