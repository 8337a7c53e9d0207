-- How far a run was when that was last told, so that each step is told once.

ALTER TABLE runs ADD COLUMN noted_progress INTEGER NOT NULL DEFAULT 0;  -- tasks that had ended
ALTER TABLE runs ADD COLUMN noted_progress_at INTEGER;                  -- NULL: nothing was told yet
