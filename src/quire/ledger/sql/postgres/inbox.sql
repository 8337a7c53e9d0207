-- name: ranked_inbox_entries
-- The same results; said as a pair, so that PostgreSQL goes by this index and not by that of keys, where it would pass by
-- every result of another rank.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
  AND r.review_rank <= CAST(:rank AS INTEGER) AND (r.review_rank, r.id) > (CAST(:rank AS INTEGER), CAST(:after AS INTEGER))
ORDER BY r.review_rank, r.id LIMIT :limit

-- name: newer_inbox_entries
-- As a pair, too.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL
  AND r.review_rank >= CAST(:rank AS INTEGER) AND (r.review_rank, r.id) < (CAST(:rank AS INTEGER), CAST(:before AS BIGINT))
ORDER BY r.review_rank DESC, r.id DESC LIMIT :limit

-- name: scored_inbox_entries
-- As a pair, too.
SELECT r.review_rank, r.id, r.task_id, r.review_reasons, r.critic_score FROM results r
WHERE r.stage_id = :stage AND r.review_state = :review AND r.superseded_at IS NULL AND r.review_rank IS NOT NULL AND r.critic_score IS NOT NULL
  AND r.critic_score <= CAST(:score AS INTEGER) AND (r.critic_score, r.id) > (CAST(:score AS INTEGER), CAST(:after AS BIGINT))
ORDER BY r.critic_score, r.id LIMIT :limit
