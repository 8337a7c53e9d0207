-- Reviews: who decided about a result, and when; until now only the history told.

ALTER TABLE results ADD COLUMN reviewer TEXT;        -- NULL: nobody, or nobody knows
ALTER TABLE results ADD COLUMN reviewed_at INTEGER;

UPDATE results SET reviewed_at = (
    SELECT max(e.at) FROM tasks t JOIN events e ON e.run_id = t.run_id AND e.kind = results.review_state
    WHERE t.id = results.task_id AND e.fields LIKE '{"task": ' || CAST(t.id AS TEXT) || ', %')
WHERE review_state <> 'unreviewed';

-- The name is the last field; one that JSON writes with a backslash is left to the history.
UPDATE results SET reviewer = (
    SELECT substr(e.fields, length(h.head) + 1, length(e.fields) - length(h.head) - 2)
    FROM (SELECT t.run_id, '{"task": ' || CAST(t.id AS TEXT) || ', "stage": "' || s.name || '", "who": "' AS head
        FROM tasks t JOIN stages s ON s.id = t.stage_id WHERE t.id = results.task_id) AS h
    JOIN events e ON e.run_id = h.run_id AND e.kind = results.review_state AND e.at = results.reviewed_at
    WHERE substr(e.fields, 1, length(h.head)) = h.head AND e.fields NOT LIKE '%\%' ESCAPE '!' LIMIT 1)
WHERE reviewed_at IS NOT NULL;

CREATE INDEX results_rejected ON results (task_id) WHERE review_state = 'rejected';  -- what was said before it is asked again
