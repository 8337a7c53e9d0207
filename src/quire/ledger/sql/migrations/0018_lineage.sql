-- Lineage as data: where a line of results began, and whose result a task is directly about. Both are tasks of the same
-- run that were there before, and stay; PostgreSQL would plan a query for every one to prove it, at half the cost of a task.

ALTER TABLE tasks ADD COLUMN origin_id INTEGER;  -- the task that its lineage began at; NULL: with itself
ALTER TABLE tasks ADD COLUMN group_id INTEGER;   -- the task whose result it is about; NULL: about none

CREATE INDEX tasks_origin ON tasks (stage_id, origin_id) WHERE origin_id IS NOT NULL;
CREATE INDEX tasks_group ON tasks (stage_id, group_id) WHERE group_id IS NOT NULL;
