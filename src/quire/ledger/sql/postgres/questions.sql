-- name: add_questions
-- As on SQLite; another worker may ask the same at this moment, and is waited for, in one order.
-- rows: content int, task_id int
INSERT INTO questions (question, content, stage_id, task_id)
SELECT :question, rows.content, :stage, rows.task_id FROM rows ORDER BY rows.content ON CONFLICT DO NOTHING
