-- Workers of workspaces: each works for one, and counts for nobody else.

ALTER TABLE workers ADD COLUMN workspace_id TEXT;    -- NULL: an older version began it, and did not say

UPDATE workers SET workspace_id = (SELECT r.workspace_id FROM runs r WHERE r.id = workers.run_id) WHERE run_id IS NOT NULL;
