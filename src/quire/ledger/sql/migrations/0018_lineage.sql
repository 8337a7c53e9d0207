-- Lineage as data: where a line of results began, and whose result a task is directly about.

ALTER TABLE tasks ADD COLUMN origin_id INTEGER REFERENCES tasks (id);   -- the task that its lineage began at; NULL: with itself
ALTER TABLE tasks ADD COLUMN group_id INTEGER REFERENCES tasks (id);    -- the task whose result it is about; NULL: about none

CREATE INDEX tasks_origin ON tasks (stage_id, origin_id) WHERE origin_id IS NOT NULL;
CREATE INDEX tasks_group ON tasks (stage_id, group_id) WHERE group_id IS NOT NULL;
