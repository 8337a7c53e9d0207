-- Limits: a rate that is learnt from refusals.

ALTER TABLE limit_levels ADD COLUMN learnt_rate TEXT NOT NULL DEFAULT '';  -- JSON; '': nothing was refused
