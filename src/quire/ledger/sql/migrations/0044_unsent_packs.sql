-- Packs that were dropped unsent are counted no longer: older versions counted them, with what was forecast of them. Every
-- stage is recounted, so that one that a newer version has worked on changes nothing.

INSERT INTO tallies (stage_id, what, delta)
WITH told AS (
    SELECT stage_id, sum(CASE WHEN what = 'packs' THEN delta ELSE 0 END) AS packs,
        sum(CASE WHEN what = 'packed_tasks' THEN delta ELSE 0 END) AS tasks,
        sum(CASE WHEN what = 'expected_cost' THEN delta ELSE 0 END) AS expected
    FROM tallies GROUP BY stage_id
), went AS (
    SELECT l.stage_id, count(*) AS packs, sum(q.tasks) AS tasks
    FROM requests q JOIN lanes l ON l.id = q.lane_id
    WHERE q.tasks > 0 AND q.kind <> 'continuation'
        AND (q.state <> 'dropped' OR EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id))
    GROUP BY l.stage_id
), surplus AS (
    SELECT t.stage_id, t.packs - coalesce(w.packs, 0) AS packs, t.tasks - coalesce(w.tasks, 0) AS tasks, t.tasks AS of_tasks, t.expected
    FROM told t LEFT JOIN went w ON w.stage_id = t.stage_id WHERE t.tasks > coalesce(w.tasks, 0)
)
SELECT stage_id, 'packs', CAST(-packs AS INTEGER) FROM surplus
UNION ALL SELECT stage_id, 'packed_tasks', CAST(-tasks AS INTEGER) FROM surplus
UNION ALL SELECT stage_id, 'expected_cost', CAST(-round(1.0 * expected * tasks / of_tasks) AS INTEGER) FROM surplus;
