-- name: spend_groups
-- What every attempt took and cost, added up by all that anybody groups by: run, stage, model, key, day, route and, where
-- it is asked for (:judged = 1), what became of it. Attempts lead the join, so that each is read once; no text is.
-- Calls larger than :tier stand alone by their size, because a model's price may change there.
-- For what packing saved: how many tokens of prefixes there would be more, were every task asked alone. The prefix of a
-- call has its share of the call's input, by the characters of both; prefixes are measured once, not for each call.
-- `fates` says of judged answers how many of their tasks have the answer for their result, how many were asked again, and
-- how many are about to be gone on with.
WITH heads AS MATERIALIZED (
    SELECT hash, length(system) + length(output_schema) AS size FROM prefixes
), fates AS (
    SELECT a.id AS attempt_id,
        sum(CASE WHEN r.attempt_id = a.id OR (r.origin = 'person' AND r.version = m.version AND coalesce(m.verdict, 'accept') = 'accept')
            OR (c.task_id IS NOT NULL AND r.version = c.version) THEN 1 ELSE 0 END) AS kept,
        sum(CASE WHEN t.state NOT IN ('failed', 'cancelled', 'blocked')
            AND (coalesce(m.verdict, 'accept') <> 'accept' OR m.version < t.version OR c.task_id IS NOT NULL) THEN 1 ELSE 0 END) AS again,
        sum(CASE WHEN c.version = t.version AND r.task_id IS NULL AND t.state IN ('ready', 'packed') THEN 1 ELSE 0 END) AS unfinished
    FROM attempts a JOIN request_tasks m ON m.request_id = a.request_id
    JOIN tasks t ON t.id = m.task_id AND t.workspace_id = :workspace
    LEFT JOIN results r ON r.task_id = m.task_id AND r.superseded_at IS NULL
    LEFT JOIN pieces c ON c.attempt_id = a.id
    WHERE :judged = 1 AND a.state = 'settled' AND (:run = 0 OR t.run_id = :run) GROUP BY a.id
), sent AS (
    SELECT l.run_id, l.stage_id, a.model, a.credential_id, a.sent_at / 86400000000 AS day, q.tasks,
        CASE WHEN a.batch_id IS NULL THEN 0 ELSE 1 END AS batched, CASE WHEN a.state IN ('answered', 'settled') THEN 1 ELSE 0 END AS answered,
        CASE WHEN q.tasks > 1 THEN coalesce(a.input_tokens + a.cached_tokens + a.written_short_tokens + a.written_long_tokens, 0)
            * h.size / (h.size + q.content_bytes + :overhead * q.tasks + 1) ELSE 0 END AS head,
        coalesce(a.input_tokens, 0) AS input, coalesce(a.cached_tokens, 0) AS cached, coalesce(a.written_short_tokens, 0) AS short,
        coalesce(a.written_long_tokens, 0) AS long, coalesce(a.output_tokens, 0) AS output, coalesce(a.reasoning_tokens, 0) AS reasoning,
        CASE WHEN a.cost_basis = 'usage' THEN a.cost ELSE 0 END AS cost,
        CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved WHEN a.cost_basis = 'presumed' THEN a.cost ELSE 0 END AS presumed,
        CASE WHEN :judged = 0 THEN '' WHEN a.state IN ('open', 'answered') THEN 'waiting'
            WHEN a.state IN ('unknown', 'written_off') THEN 'lost' WHEN a.state = 'refused' THEN 'refused'
            WHEN q.kind = 'embed' THEN 'embedded'
            WHEN f.kept >= q.tasks THEN CASE WHEN q.kind = 'repair' THEN 'repaired' ELSE 'accepted' END
            WHEN f.unfinished > 0 THEN 'waiting'
            WHEN f.kept = 0 AND (SELECT stop FROM responses p WHERE p.attempt_id = a.id) = 'refusal' THEN 'refused'
            WHEN q.tasks > 1 AND f.kept + f.again > 0 THEN 'split'
            WHEN f.again > 0 THEN 'retried' ELSE 'wasted' END AS outcome
    FROM attempts a CROSS JOIN requests q CROSS JOIN lanes l JOIN heads h ON h.hash = q.prefix_hash LEFT JOIN fates f ON f.attempt_id = a.id
    WHERE q.id = a.request_id AND l.id = q.lane_id AND l.workspace_id = :workspace AND (:run = 0 OR l.run_id = :run)
), sums AS (
    SELECT run_id, stage_id, model, credential_id, day, batched, outcome,
        CASE WHEN input + cached + short + long > :tier THEN input + cached + short + long ELSE 0 END AS size,
        count(*) AS attempts, sum(answered) AS calls, sum(answered * tasks) AS tasks, sum(input) AS input, sum(cached) AS cached,
        sum(short) AS short, sum(long) AS long, sum(output) AS output, sum(reasoning) AS reasoning, sum(cost) AS cost,
        sum(presumed) AS presumed, sum((tasks - 1) * head) AS more_prefix,
        sum((tasks - 1) * CASE WHEN cached < head THEN cached ELSE head END) AS more_cached
    FROM sent GROUP BY run_id, stage_id, model, credential_id, day, batched, outcome,
        CASE WHEN input + cached + short + long > :tier THEN input + cached + short + long ELSE 0 END
)
SELECT u.run_id, s.name, u.model, k.provider, k.source, CASE WHEN k.person <> '' THEN k.name || ' of ' || k.person ELSE k.name END, k.tail, u.day, u.batched, u.outcome, u.size,
    u.attempts, CAST(u.calls AS INTEGER), CAST(u.tasks AS INTEGER), CAST(u.input AS INTEGER), CAST(u.cached AS INTEGER), CAST(u.short AS INTEGER),
    CAST(u.long AS INTEGER), CAST(u.output AS INTEGER), CAST(u.reasoning AS INTEGER), CAST(u.cost AS INTEGER), CAST(u.presumed AS INTEGER),
    CAST(u.more_prefix AS INTEGER), CAST(u.more_cached AS INTEGER), 0, 0, u.stage_id
FROM sums u JOIN stages s ON s.id = u.stage_id
LEFT JOIN credentials k ON k.id = u.credential_id AND k.workspace_id = :workspace
ORDER BY u.run_id, u.stage_id, u.model, u.day, u.credential_id, u.batched, u.outcome, u.size

-- name: reuse_groups
-- Answers that tasks took instead of asking, by all that spend is grouped by: model and key are of the call that was paid
-- for, its share is what was saved; the day is that of the taking. Read stage by stage where the tallies know of any; what
-- `--reuse RUN` copied is not tallied, and no part of it. Judged anew, a taken answer is
-- another result, so the first one counts.
WITH taken AS (
    SELECT t.run_id, t.stage_id, min(r.id) AS result_id
    FROM runs n JOIN stages s ON s.run_id = n.id JOIN tasks t ON t.stage_id = s.id AND t.workspace_id = :workspace
    JOIN results r ON r.task_id = t.id AND r.reused_from IS NOT NULL
    WHERE n.workspace_id = :workspace AND (:run = 0 OR n.id = :run)
      AND EXISTS (SELECT 1 FROM tallies y WHERE y.stage_id = s.id AND y.what = 'reused')
    GROUP BY t.id, t.run_id, t.stage_id
)
SELECT x.run_id, s.name, coalesce(a.model, ''), k.provider, k.source, CASE WHEN k.person <> '' THEN k.name || ' of ' || k.person ELSE k.name END, k.tail, r.created_at / 86400000000, 0, 'reused', 0,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*),
    CAST(sum(coalesce(a.cost, 0) / CASE WHEN q.tasks > 0 THEN q.tasks ELSE 1 END) AS INTEGER), x.stage_id
FROM taken x JOIN results r ON r.id = x.result_id JOIN stages s ON s.id = x.stage_id
LEFT JOIN attempts a ON a.id = r.attempt_id LEFT JOIN requests q ON q.id = a.request_id
LEFT JOIN credentials k ON k.id = a.credential_id AND k.workspace_id = :workspace
GROUP BY x.run_id, x.stage_id, s.name, a.model, a.credential_id, k.provider, k.source, k.name, k.person, k.tail, r.created_at / 86400000000
ORDER BY x.run_id, x.stage_id, a.model, r.created_at / 86400000000, a.credential_id

-- name: money_of_runs
-- Of every run that spent anything or has a wallet: what the tallies say it cost (known and presumed), what its attempts do,
-- what is reserved for those that are out, what its slices have free, and what its wallet's entries took from there.
-- All is well where tallied = attempted and, with a wallet, paid = attempted + reserved + free; when a run is over, nothing is
-- reserved or free: then spend = the attempts = the entries.
WITH sent AS (
    SELECT l.run_id, CAST(sum(CASE WHEN a.state IN ('unknown', 'written_off') THEN a.reserved ELSE coalesce(a.cost, 0) END) AS INTEGER) AS cost,
        CAST(sum(CASE WHEN a.state = 'open' THEN a.reserved ELSE 0 END) AS INTEGER) AS reserved
    FROM attempts a CROSS JOIN requests q CROSS JOIN lanes l
    WHERE q.id = a.request_id AND l.id = q.lane_id AND l.workspace_id = :workspace GROUP BY l.run_id
), tallied AS (
    SELECT s.run_id, CAST(sum(t.delta) AS INTEGER) AS cost FROM tallies t JOIN stages s ON s.id = t.stage_id
    WHERE t.what IN ('cost', 'presumed') GROUP BY s.run_id
), sliced AS (
    SELECT run_id, CAST(sum(granted - used) AS INTEGER) AS free FROM slices GROUP BY run_id
), entered AS (
    SELECT run_id, wallet_id, CAST(-sum(amount) AS INTEGER) AS paid FROM wallet_entries WHERE run_id IS NOT NULL GROUP BY run_id, wallet_id
)
SELECT r.id, w.name, coalesce(tallied.cost, 0), coalesce(sent.cost, 0), coalesce(sent.reserved, 0), coalesce(sliced.free, 0), coalesce(entered.paid, 0)
FROM runs r LEFT JOIN sent ON sent.run_id = r.id LEFT JOIN tallied ON tallied.run_id = r.id
LEFT JOIN run_funds f ON f.run_id = r.id LEFT JOIN wallets w ON w.id = f.wallet_id
LEFT JOIN sliced ON sliced.run_id = r.id LEFT JOIN entered ON entered.run_id = r.id AND entered.wallet_id = f.wallet_id
WHERE r.workspace_id = :workspace AND (sent.run_id IS NOT NULL OR tallied.run_id IS NOT NULL OR f.wallet_id IS NOT NULL) ORDER BY r.id

-- name: priced_models
-- What was told to runs of their models, prices included.
SELECT id, model FROM runs WHERE workspace_id = :workspace AND (:run = 0 OR id = :run)
UNION ALL SELECT o.run_id, o.facts FROM run_models o JOIN runs r ON r.id = o.run_id
WHERE r.workspace_id = :workspace AND (:run = 0 OR r.id = :run)

-- name: add_stage_forecasts
-- rows: run_id int, ordinal int, stage text, model text, tasks int, calls int, input int, output int, low int, cost int, high int
INSERT INTO stage_forecasts (run_id, ordinal, stage, model, tasks, calls, input_tokens, output_tokens, low, cost, high)
SELECT rows.run_id, rows.ordinal, rows.stage, rows.model, rows.tasks, rows.calls, rows.input, rows.output, rows.low, rows.cost, rows.high FROM rows

-- name: stage_forecasts
SELECT f.stage, f.model, f.tasks, f.calls, f.input_tokens, f.output_tokens, f.low, f.cost, f.high
FROM stage_forecasts f JOIN runs r ON r.id = f.run_id WHERE r.workspace_id = :workspace AND f.run_id = :run ORDER BY f.ordinal

-- name: spend_since
-- What calls cost that were sent since a moment: of vendors, presumed, and of simulated models. Attempts are numbered in the
-- order they were sent in, so the search goes back from the newest and ends at the first one that is older.
SELECT CAST(coalesce(sum(CASE WHEN a.provider <> 'simulated' AND a.cost_basis = 'usage' THEN a.cost ELSE 0 END), 0) AS INTEGER),
    CAST(coalesce(sum(CASE WHEN a.provider = 'simulated' THEN 0 WHEN a.state IN ('unknown', 'written_off') THEN a.reserved
        WHEN a.cost_basis = 'presumed' THEN a.cost ELSE 0 END), 0) AS INTEGER),
    CAST(coalesce(sum(CASE WHEN a.provider = 'simulated' AND a.cost_basis = 'usage' THEN a.cost ELSE 0 END), 0) AS INTEGER)
FROM attempts a CROSS JOIN requests q CROSS JOIN lanes l
WHERE a.id > coalesce((SELECT older.id FROM attempts older WHERE older.sent_at < :since ORDER BY older.id DESC LIMIT 1), 0)
    AND q.id = a.request_id AND l.id = q.lane_id AND l.workspace_id = :workspace
