-- name: want_compression
-- These tasks wait until their prompts were compressed.
UPDATE tasks SET compressing = 0 WHERE workspace_id = :workspace AND id IN (:tasks...) AND state = 'ready' AND compressing IS NULL

-- name: stages_to_compress
-- Those that wait for embeddings too: their calls may be over.
SELECT DISTINCT stage_id, model_no FROM tasks WHERE workspace_id = :workspace AND (compressing = 0 OR compressing = -1)

-- name: tasks_to_compress
SELECT id FROM tasks WHERE workspace_id = :workspace AND compressing = 0 AND stage_id = :stage AND model_no = :model AND state = 'ready'
ORDER BY id LIMIT :limit

-- name: take_compression
-- By compare-and-set: of several workers one gets it.
UPDATE tasks SET compressing = :worker WHERE workspace_id = :workspace AND id IN (:tasks...) AND compressing = 0 RETURNING id

-- name: end_compression
-- Returns those that the worker still had.
UPDATE tasks SET compressing = NULL WHERE workspace_id = :workspace AND id IN (:tasks...) AND compressing = :worker RETURNING id

-- name: release_compressions
-- What workers that are gone had taken is there for others.
UPDATE tasks SET compressing = 0 WHERE workspace_id = :workspace AND compressing > 0
  AND NOT EXISTS (SELECT 1 FROM workers w WHERE w.id = tasks.compressing AND w.ended_at IS NULL)

-- name: extracts_of_text
-- What was made of a text for a prompt, by size.
SELECT size, text FROM extracts WHERE workspace_id = :workspace AND prompt = :prompt AND source = :source

-- name: add_extract
-- Another worker may have made the same.
INSERT INTO extracts (workspace_id, source, prompt, size, text) VALUES (:workspace, :source, :prompt, :size, :content)
ON CONFLICT (workspace_id, prompt, source, size) DO NOTHING

-- name: add_compression
INSERT INTO compressions (task_id, no, source, prompt, size, name, tokens, kept, instead)
SELECT t.id, t.compression + 1, :source, :prompt, :size, :name, :tokens, :kept, :instead FROM tasks t WHERE t.workspace_id = :workspace AND t.id = :task

-- name: count_compression
UPDATE tasks SET compression = compression + 1 WHERE workspace_id = :workspace AND id = :task

-- name: extracts_of_compression
-- What stands in the place of texts in a task's prompt, as it was compressed the last time or before.
SELECT c.source, e.text FROM compressions c
JOIN extracts e ON e.workspace_id = :workspace AND e.prompt = c.prompt AND e.source = c.source AND e.size = c.size
WHERE c.task_id = :task AND c.no = :no

-- name: compressed_texts
-- What was compressed of some tasks' prompts, and from how many tokens to how many.
SELECT c.task_id, c.name, c.tokens, c.kept, c.instead FROM tasks t JOIN compressions c ON c.task_id = t.id AND c.no = t.compression
WHERE t.workspace_id = :workspace AND t.id IN (:tasks...) ORDER BY c.task_id, c.name

-- name: purge_compressions
DELETE FROM compressions WHERE task_id IN (:tasks...)

-- name: purge_extracts
-- Those that no task is asked with any more.
DELETE FROM extracts WHERE workspace_id = :workspace AND NOT EXISTS (
    SELECT 1 FROM compressions c WHERE c.prompt = extracts.prompt AND c.source = extracts.source AND c.size = extracts.size)
