-- Results can be looked at by their critic's score, the lowest first; those without one cost nothing here.

CREATE INDEX results_scored ON results (stage_id, review_state, critic_score, id) WHERE superseded_at IS NULL AND review_rank IS NOT NULL AND critic_score IS NOT NULL;
