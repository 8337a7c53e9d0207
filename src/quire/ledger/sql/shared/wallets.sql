-- name: add_wallet
INSERT INTO wallets (workspace_id, name, created_at) VALUES (:workspace, :name, :now) ON CONFLICT DO NOTHING

-- name: get_wallet
SELECT id, name, balance, created_at FROM wallets WHERE workspace_id = :workspace AND name = :name

-- name: list_wallets
-- Each with what its runs hold of it, and what of that was spent or is reserved.
SELECT w.id, w.name, w.balance, w.created_at,
    coalesce((SELECT CAST(sum(f.granted) AS INTEGER) FROM run_funds f WHERE f.wallet_id = w.id), 0),
    coalesce((SELECT CAST(sum(s.used) AS INTEGER) FROM run_funds f JOIN slices s ON s.run_id = f.run_id WHERE f.wallet_id = w.id), 0)
FROM wallets w WHERE w.workspace_id = :workspace ORDER BY w.name

-- name: take_wallet
-- What it holds, taken for this transaction. Whoever changes what its runs are granted takes it first.
SELECT balance FROM wallets WHERE id = :id

-- name: change_balance
UPDATE wallets SET balance = balance + :amount WHERE id = :id

-- name: find_entry
SELECT id, key, kind, amount, run_id, at, note FROM wallet_entries WHERE wallet_id = :wallet AND key = :key

-- name: add_entry
INSERT INTO wallet_entries (wallet_id, key, kind, amount, run_id, at, note)
VALUES (:wallet, :key, :kind, :amount, :run, :now, :note)

-- name: entries_of_wallet
SELECT id, key, kind, amount, run_id, at, note FROM wallet_entries WHERE wallet_id = :wallet ORDER BY id DESC LIMIT :limit

-- name: add_run_funds
INSERT INTO run_funds (run_id, wallet_id, budget, joined_at) VALUES (:run, :wallet, :budget, :joined_at)

-- name: set_budget
UPDATE run_funds SET budget = :budget WHERE run_id = :run

-- name: set_run_wallet
UPDATE run_funds SET wallet_id = :wallet WHERE run_id = :run AND wallet_id IS NULL

-- name: funds_of_run
SELECT f.run_id, f.wallet_id, w.name, f.budget, f.granted, f.joined_at
FROM run_funds f LEFT JOIN wallets w ON w.id = f.wallet_id WHERE f.run_id = :run

-- name: take_granted
-- What a run was granted of its budget, taken for this transaction; after its wallet, if it has one.
SELECT budget, granted FROM run_funds WHERE run_id = :run

-- name: change_granted
UPDATE run_funds SET granted = granted + :amount WHERE run_id = :run

-- name: runs_held_for_funds
-- By the wallet, not by their budget.
SELECT f.run_id, h.fields FROM run_funds f JOIN holds h ON h.run_id = f.run_id AND h.cause = 'wallet_empty'
JOIN runs r ON r.id = f.run_id AND r.workspace_id = :workspace WHERE f.wallet_id = :wallet ORDER BY f.run_id

-- name: add_slice
INSERT INTO slices (run_id, worker_id) VALUES (:run, :worker) ON CONFLICT DO NOTHING

-- name: take_slice
-- A worker's part of a run's money, taken for this transaction.
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE run_id = :run AND worker_id = :worker

-- name: charge_slice
-- Reserve for calls about to be sent, if the slice covers them: the only statement that a group of calls needs.
UPDATE slices SET used = used + :amount
WHERE run_id = :run AND worker_id = :worker AND ended = 0 AND granted - used >= :amount RETURNING id

-- name: settle_slice
-- What became of calls changes what a slice has used.
UPDATE slices SET used = used + :amount WHERE id = :id RETURNING id, run_id, worker_id, no, granted, used, ended

-- name: change_slice
UPDATE slices SET granted = granted + :amount, no = no + 1, ended = :ended WHERE id = :id RETURNING no

-- name: idle_slices
-- Slices with something free, of a run and of all that share its wallet; those that are just in use are left alone.
SELECT s.id, s.run_id, s.worker_id, s.no, s.granted, s.used, s.ended FROM run_funds f JOIN slices s ON s.run_id = f.run_id
WHERE (f.run_id = :run OR f.wallet_id = :wallet) AND s.granted > s.used AND s.id <> :own ORDER BY s.id

-- name: free_in_slices
-- The same as a sum, those in use included.
SELECT coalesce(CAST(sum(s.granted - s.used) AS INTEGER), 0) FROM run_funds f JOIN slices s ON s.run_id = f.run_id
WHERE (f.run_id = :run OR f.wallet_id = :wallet) AND s.granted > s.used AND s.id <> :own

-- name: slices_of_run
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE run_id = :run ORDER BY id

-- name: take_slices_of_run
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE run_id = :run AND ended = 0 ORDER BY id

-- name: take_slices_of_workers
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE worker_id IN (:workers...) AND ended = 0 ORDER BY id

-- name: slices_of_attempts
-- Of attempts that somebody has taken: what is reserved for each, and where.
SELECT id, slice_id, reserved FROM attempts WHERE id IN (:ids...) AND slice_id IS NOT NULL

-- name: has_calls_out
SELECT 1 FROM slices s JOIN attempts a ON a.slice_id = s.id WHERE s.run_id = :run AND a.state = 'open' LIMIT 1

-- name: calls_reserved_for
-- Calls of a run that are out, and what is reserved for them.
SELECT count(*), coalesce(CAST(sum(a.reserved) AS INTEGER), 0) FROM slices s JOIN attempts a ON a.slice_id = s.id
WHERE s.run_id = :run AND a.state = 'open'

-- name: next_reserve
-- What the oldest call that waits to go reserves; nothing where none waits.
SELECT q.reserve FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'queued'
WHERE l.workspace_id = :workspace AND l.run_id = :run ORDER BY q.id LIMIT 1

-- name: tasks_to_settle
-- Tasks of a run's calls that are answered, and nobody has judged yet.
SELECT coalesce(CAST(sum(q.tasks) AS INTEGER), 0) FROM attempts a JOIN requests q ON q.id = a.request_id
JOIN lanes l ON l.id = q.lane_id AND l.workspace_id = :workspace AND l.run_id = :run WHERE a.state = 'answered'

-- name: adopt_attempts
-- What a run sent before it was given a budget counts too.
UPDATE attempts SET slice_id = :slice WHERE slice_id IS NULL
  AND request_id IN (SELECT q.id FROM lanes l JOIN requests q ON q.lane_id = l.id WHERE l.workspace_id = :workspace AND l.run_id = :run)

-- name: used_by_attempts
-- What a slice's attempts come to: the truth that its `used` must equal.
SELECT coalesce(CAST(sum(CASE WHEN a.state IN ('open', 'unknown') THEN a.reserved WHEN a.state = 'refused' THEN 0 ELSE coalesce(a.cost, 0) END) AS INTEGER), 0)
FROM lanes l JOIN requests q ON q.lane_id = l.id JOIN attempts a ON a.request_id = q.id AND a.slice_id = :slice
WHERE l.workspace_id = :workspace AND l.run_id = :run

-- name: unbalanced_wallets
-- Wallets that are not the sum of their entries; reads all of those.
SELECT w.name, w.balance, coalesce(CAST(sum(e.amount) AS INTEGER), 0) FROM wallets w LEFT JOIN wallet_entries e ON e.wallet_id = w.id
WHERE w.workspace_id = :workspace GROUP BY w.id, w.name, w.balance HAVING w.balance <> coalesce(sum(e.amount), 0) ORDER BY w.name

-- name: unbalanced_runs
-- Runs whose grants are not the sum of their slices, or not what their wallet's entries say.
SELECT found.run_id, found.granted, found.sliced, found.entered FROM (
    SELECT f.run_id, f.granted, f.wallet_id,
        coalesce((SELECT CAST(sum(s.granted) AS INTEGER) FROM slices s WHERE s.run_id = f.run_id), 0) AS sliced,
        coalesce((SELECT CAST(-sum(e.amount) AS INTEGER) FROM wallet_entries e WHERE e.wallet_id = f.wallet_id AND e.run_id = f.run_id), 0) AS entered
    FROM run_funds f JOIN runs r ON r.id = f.run_id AND r.workspace_id = :workspace) AS found
WHERE found.granted <> found.sliced OR (found.wallet_id IS NOT NULL AND found.granted <> found.entered) ORDER BY found.run_id

-- name: unbalanced_slices
-- Slices that have not used what their attempts come to; reads all attempts.
SELECT found.id, found.run_id, found.used, found.truth FROM (
    SELECT s.id, s.run_id, s.used,
        coalesce(CAST(sum(CASE WHEN a.state IN ('open', 'unknown') THEN a.reserved WHEN a.state = 'refused' THEN 0 ELSE coalesce(a.cost, 0) END) AS INTEGER), 0) AS truth
    FROM runs r JOIN slices s ON s.run_id = r.id LEFT JOIN attempts a ON a.slice_id = s.id
    WHERE r.workspace_id = :workspace GROUP BY s.id, s.run_id, s.used) AS found
WHERE found.used <> found.truth ORDER BY found.id
