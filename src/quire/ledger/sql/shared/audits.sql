-- name: audit_population
-- Accepted results of a stage, in their order.
SELECT r.id, t.id FROM results r JOIN tasks t ON t.id = r.task_id AND t.workspace_id = :workspace AND t.state = 'done'
WHERE r.stage_id = :stage AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL AND r.data IS NOT NULL ORDER BY r.id

-- name: add_audit
INSERT INTO audits (workspace_id, run_id, stage_id, size, population, tolerance, seed, who, started_at)
VALUES (:workspace, :run, :stage, :size, :population, :tolerance, :seed, :who, :now) RETURNING id

-- name: add_audit_items
-- rows: audit_id int, no int, task_id int, result_id int
INSERT INTO audit_items (audit_id, no, task_id, result_id) SELECT rows.audit_id, rows.no, rows.task_id, rows.result_id FROM rows

-- name: find_audit
-- The newest audit of a stage with the same size, tolerance and seed.
SELECT a.id FROM audits a WHERE a.workspace_id = :workspace AND a.stage_id = :stage AND a.size = :size AND a.tolerance = :tolerance AND a.seed = :seed
ORDER BY a.id DESC LIMIT 1

-- name: get_audit
SELECT a.id, a.run_id, s.name, a.size, a.population, a.tolerance, a.seed, a.who, a.started_at, a.stage_id,
    (SELECT count(*) FROM audit_items i WHERE i.audit_id = a.id AND i.marked_at IS NOT NULL)
FROM audits a JOIN stages s ON s.id = a.stage_id WHERE a.workspace_id = :workspace AND a.id = :id

-- name: audits_of_run
SELECT a.id FROM audits a WHERE a.workspace_id = :workspace AND a.run_id = :run ORDER BY a.id

-- name: audit_item
SELECT i.task_id, i.result_id, r.data FROM audits a JOIN audit_items i ON i.audit_id = a.id AND i.no = :no
JOIN results r ON r.id = i.result_id WHERE a.workspace_id = :workspace AND a.id = :id

-- name: next_audit_item
SELECT min(i.no) FROM audits a JOIN audit_items i ON i.audit_id = a.id AND i.marked_at IS NULL WHERE a.workspace_id = :workspace AND a.id = :id

-- name: note_audit_item
-- An item is marked; one that is marked again keeps its place among the others.
UPDATE audit_items SET marked_at = coalesce(marked_at, :now) WHERE audit_id = :id AND no = :no

-- name: forget_marks
DELETE FROM audit_marks WHERE audit_id = :id AND no = :no

-- name: add_marks
-- rows: audit_id int, no int, field text, mark text, who text, at int
INSERT INTO audit_marks (audit_id, no, field, mark, who, at) SELECT rows.audit_id, rows.no, rows.field, rows.mark, rows.who, rows.at FROM rows

-- name: marks_of_item
SELECT m.field, m.mark FROM audits a JOIN audit_marks m ON m.audit_id = a.id AND m.no = :no WHERE a.workspace_id = :workspace AND a.id = :id ORDER BY m.field

-- name: count_marks
SELECT m.field, m.mark, count(*) FROM audits a JOIN audit_marks m ON m.audit_id = a.id WHERE a.workspace_id = :workspace AND a.id = :id GROUP BY m.field, m.mark ORDER BY m.field, m.mark

-- name: audit_strikes
-- What was not marked right, and as which of its field's marks in the order of marking, from 1.
SELECT field, mark, place FROM (
    SELECT m.field, m.mark, row_number() OVER (PARTITION BY m.field ORDER BY i.marked_at, i.no) AS place
    FROM audits a JOIN audit_items i ON i.audit_id = a.id JOIN audit_marks m ON m.audit_id = i.audit_id AND m.no = i.no
    WHERE a.workspace_id = :workspace AND a.id = :id
) AS numbered WHERE mark <> 'right' ORDER BY field, place
