-- name: take_wallet
SELECT balance FROM wallets WHERE id = :id FOR NO KEY UPDATE

-- name: take_granted
SELECT budget, granted FROM run_funds WHERE run_id = :run FOR NO KEY UPDATE

-- name: take_slice
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE run_id = :run AND worker_id = :worker FOR NO KEY UPDATE

-- name: idle_slices
-- As on SQLite. Whoever claims has its slice taken, and may wait for the wallet that the caller holds: so nobody waits here.
SELECT s.id, s.run_id, s.worker_id, s.no, s.granted, s.used, s.ended FROM run_funds f JOIN slices s ON s.run_id = f.run_id
WHERE (f.run_id = :run OR f.wallet_id = :wallet) AND s.granted > s.used AND s.id <> :own ORDER BY s.id FOR NO KEY UPDATE OF s SKIP LOCKED

-- name: take_slices_of_run
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE run_id = :run AND ended = 0 ORDER BY id FOR NO KEY UPDATE

-- name: take_slices_of_workers
SELECT id, run_id, worker_id, no, granted, used, ended FROM slices WHERE worker_id IN (:workers...) AND ended = 0 ORDER BY id FOR NO KEY UPDATE
