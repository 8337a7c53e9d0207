-- name: add_tallies
-- rows: stage_id int, what text, delta int
INSERT INTO tallies (stage_id, what, delta) SELECT rows.stage_id, rows.what, rows.delta FROM rows

-- name: tallies_of_run
SELECT t.what, CAST(sum(t.delta) AS INTEGER) FROM tallies t JOIN stages s ON s.id = t.stage_id
WHERE s.run_id = :run GROUP BY t.what

-- name: tallies_by_stage
-- The sums of a run, for each of its stages.
SELECT t.stage_id, t.what, CAST(sum(t.delta) AS INTEGER) FROM tallies t JOIN stages s ON s.id = t.stage_id
WHERE s.run_id = :run GROUP BY t.stage_id, t.what

-- name: tallies_of_stage
SELECT what, CAST(sum(delta) AS INTEGER) FROM tallies WHERE stage_id = :stage GROUP BY what

-- name: crowded_stages
-- Stages of running runs whose tallies are worth folding; those of runs that ended do not grow.
SELECT t.stage_id FROM runs r CROSS JOIN stages s CROSS JOIN tallies t
WHERE r.workspace_id = :workspace AND r.state = 'running' AND s.run_id = r.id AND t.stage_id = s.id
GROUP BY t.stage_id HAVING count(*) > :limit

-- name: take_tallies
DELETE FROM tallies WHERE stage_id = :stage RETURNING what, delta

-- name: recount_tasks
-- The truth that tallies must equal.
SELECT state, count(*) FROM tasks WHERE workspace_id = :workspace AND stage_id = :stage GROUP BY state
