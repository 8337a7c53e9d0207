-- Serving and lapsing: a worker may spend for one run only; what headers said of limits holds for a while.

ALTER TABLE workers ADD COLUMN run_id INTEGER REFERENCES runs (id);     -- the run it serves; without one, all

ALTER TABLE limit_levels ADD COLUMN learnt_at INTEGER NOT NULL DEFAULT 0;  -- when headers last named limits
