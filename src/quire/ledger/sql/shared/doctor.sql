-- name: database_facts
-- Version of the database, of the tables, size in bytes, clock in microseconds, connections in use and the most there
-- may be; each database says what it knows.
SELECT version, tables_version, bytes, clock, used, most
FROM (SELECT sqlite_version() AS version, (SELECT user_version FROM pragma_user_version) AS tables_version,
    (SELECT c.page_count * s.page_size FROM pragma_page_count c, pragma_page_size s) AS bytes,
    NULL AS clock, NULL AS used, NULL AS most) AS facts

-- name: file_damages
-- What is wrong with the file, line by line; the one line `ok` if nothing is.
SELECT said FROM (SELECT quick_check AS said FROM pragma_quick_check) AS damages

-- name: unended_workers
-- Workers that never signed off, with the calls that each has out.
SELECT w.id, w.host, w.pid, w.version, w.seen_at,
    (SELECT count(*) FROM attempts a WHERE a.worker_id = w.id AND a.state = 'open')
FROM workers w WHERE w.ended_at IS NULL ORDER BY w.id

-- name: last_activity
-- When a run's calls last went out or came back.
SELECT max(a.sent_at), max(a.ended_at)
FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
WHERE l.workspace_id = :workspace AND l.run_id = :run

-- name: miscounts
-- Where the sums of the tallies are not what the tasks, requests and attempts themselves say. `splits`, what was
-- saved and what failures are watched by are not among them: nothing else remembers those. All of one moment, because it is one statement.
WITH sent AS (
    SELECT l.stage_id, a.no, a.state, a.cost, a.cost_basis, a.reserved, a.cached_tokens, a.output_tokens,
        a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens AS input_tokens
    FROM attempts a JOIN requests q ON q.id = a.request_id JOIN lanes l ON l.id = q.lane_id
    WHERE l.workspace_id = :workspace
), packs AS (
    SELECT l.stage_id, sum(CASE WHEN q.kind = 'continuation' THEN 1 ELSE 0 END) AS continuations,
        sum(CASE WHEN q.kind = 'continuation' THEN 0 ELSE 1 END) AS packs,
        sum(CASE WHEN q.kind = 'continuation' THEN 0 ELSE q.tasks END) AS packed_tasks
    FROM requests q JOIN lanes l ON l.id = q.lane_id
    WHERE l.workspace_id = :workspace AND q.tasks > 0 AND (q.kind = 'continuation' OR q.state <> 'dropped'
        OR EXISTS (SELECT 1 FROM attempts a WHERE a.request_id = q.id)) -- as `unsent_packs` takes back
    GROUP BY l.stage_id
), sums AS (
    SELECT stage_id, sum(CASE WHEN state IN ('answered', 'settled') THEN 1 ELSE 0 END) AS calls,
        sum(CASE WHEN no > 1 THEN 1 ELSE 0 END) AS resent, sum(coalesce(input_tokens, 0)) AS input_tokens,
        sum(coalesce(cached_tokens, 0)) AS cached_tokens, sum(coalesce(output_tokens, 0)) AS output_tokens,
        sum(CASE WHEN cost_basis = 'usage' THEN cost ELSE 0 END) AS cost,
        sum(CASE WHEN state IN ('unknown', 'written_off') THEN reserved
            WHEN cost_basis = 'presumed' THEN cost ELSE 0 END) AS presumed
    FROM sent GROUP BY stage_id
), truth AS (
    SELECT stage_id, state AS what, count(*) AS number FROM tasks WHERE workspace_id = :workspace GROUP BY stage_id, state
    UNION ALL SELECT stage_id, 'packs', packs FROM packs
    UNION ALL SELECT stage_id, 'packed_tasks', packed_tasks FROM packs
    UNION ALL SELECT stage_id, 'continuations', continuations FROM packs
    UNION ALL SELECT stage_id, 'calls', calls FROM sums
    UNION ALL SELECT stage_id, 'resent', resent FROM sums
    UNION ALL SELECT stage_id, 'input_tokens', input_tokens FROM sums
    UNION ALL SELECT stage_id, 'cached_tokens', cached_tokens FROM sums
    UNION ALL SELECT stage_id, 'output_tokens', output_tokens FROM sums
    UNION ALL SELECT stage_id, 'cost', cost FROM sums
    UNION ALL SELECT stage_id, 'presumed', presumed FROM sums
), told AS (
    SELECT t.stage_id, t.what, sum(t.delta) AS number
    FROM tallies t JOIN stages s ON s.id = t.stage_id JOIN runs r ON r.id = s.run_id
    WHERE r.workspace_id = :workspace AND t.what NOT IN ('splits', 'failed_calls', 'refused_answers', 'expected_cost', 'reused', 'saved')
        AND substr(t.what, 1, 7) NOT IN ('window_', 'allowed') GROUP BY t.stage_id, t.what
), both_sides AS (
    SELECT stage_id, what, number AS truth, 0 AS told FROM truth
    UNION ALL SELECT stage_id, what, 0, number FROM told
)
SELECT s.run_id, b.stage_id, b.what, CAST(sum(b.told) AS INTEGER), CAST(sum(b.truth) AS INTEGER)
FROM both_sides b JOIN stages s ON s.id = b.stage_id
GROUP BY s.run_id, b.stage_id, b.what HAVING sum(b.told) <> sum(b.truth)
ORDER BY s.run_id, b.stage_id, b.what
