-- name: strip_bins
-- The packs of a run in the order of what they ask about, so many to a bin that there are no more bins than asked for: how
-- many are in which state, and what they come to. Halves follow the pack that was split, which begins with the same task.
-- Calls that are out are found by their attempts: requests have no index of those. A member that was judged and has no verdict was accepted; where nothing was judged, all of a pack was asked again. A pack has
-- failed where a task of it did, and was in no later one.
WITH found AS (
    SELECT q.id, q.state, q.kind, q.tasks, q.sent, l.stage_id, l.model FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'closed'
    WHERE l.workspace_id = :workspace AND l.run_id = :run
    UNION ALL
    SELECT q.id, q.state, q.kind, q.tasks, q.sent, l.stage_id, l.model FROM lanes l JOIN requests q ON q.lane_id = l.id AND q.state = 'queued'
    WHERE l.workspace_id = :workspace AND l.run_id = :run
    UNION ALL
    SELECT q.id, q.state, q.kind, q.tasks, q.sent, l.stage_id, l.model
    FROM (SELECT request_id FROM attempts WHERE state = 'open' UNION SELECT request_id FROM attempts WHERE state = 'answered'
        UNION SELECT request_id FROM attempts WHERE state = 'unknown') AS o
    CROSS JOIN requests q CROSS JOIN lanes l
    WHERE q.id = o.request_id AND q.state = 'out' AND l.id = q.lane_id AND l.workspace_id = :workspace AND l.run_id = :run
), packs AS (
    SELECT q.id, q.stage_id, q.model, q.tasks, q.sent,
        (SELECT rt.task_id FROM request_tasks rt WHERE rt.request_id = q.id ORDER BY rt.ordinal LIMIT 1) AS first,
        coalesce((SELECT CAST(sum(CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE coalesce(a.cost, 0) END) AS INTEGER) FROM attempts a WHERE a.request_id = q.id), 0) AS cost,
        CASE WHEN q.state = 'queued' THEN 'waiting' WHEN q.state = 'out' THEN 'out'
            WHEN NOT EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id AND a.state = 'settled') THEN 'again'
            WHEN NOT EXISTS (SELECT 1 FROM request_tasks rt WHERE rt.request_id = q.id AND rt.verdict IN ('retry', 'fail')) THEN 'done'
            WHEN EXISTS (SELECT 1 FROM request_tasks rt JOIN tasks t ON t.id = rt.task_id AND t.workspace_id = :workspace
                WHERE rt.request_id = q.id AND rt.verdict IN ('retry', 'fail') AND t.state = 'failed'
                AND NOT EXISTS (SELECT 1 FROM request_tasks o WHERE o.task_id = rt.task_id AND o.request_id > q.id)) THEN 'failed' ELSE 'again' END AS state
    FROM found q WHERE (:stage = 0 OR q.stage_id = :stage) AND q.kind <> 'embed'
), placed AS (
    SELECT p.*, row_number() OVER (ORDER BY p.stage_id, p.first, p.id) - 1 AS place, count(*) OVER () AS packs FROM packs p
)
SELECT place * :bins / CASE WHEN packs > :bins THEN packs ELSE :bins END, count(*), min(id), min(stage_id), max(stage_id), min(model), max(model),
    CAST(sum(tasks) AS INTEGER), CAST(sum(sent) AS INTEGER), CAST(sum(cost) AS INTEGER),
    CAST(sum(CASE WHEN state = 'done' THEN 1 ELSE 0 END) AS INTEGER), CAST(sum(CASE WHEN state = 'failed' THEN 1 ELSE 0 END) AS INTEGER),
    CAST(sum(CASE WHEN state = 'again' THEN 1 ELSE 0 END) AS INTEGER), CAST(sum(CASE WHEN state = 'out' THEN 1 ELSE 0 END) AS INTEGER),
    CAST(sum(CASE WHEN state = 'waiting' THEN 1 ELSE 0 END) AS INTEGER)
FROM placed GROUP BY 1 ORDER BY 1

-- name: last_event_of_run
-- The number of what last happened to a run; 0: nothing yet.
SELECT coalesce(max(id), 0) FROM events WHERE workspace_id = :workspace AND run_id = :run
