-- name: add_questions
-- As on SQLite; another worker may ask the same at this moment, and is waited for, in one order.
-- rows: question int, content int, stage_id int, task_id int
INSERT INTO questions (question, content, stage_id, task_id)
SELECT rows.question, rows.content, rows.stage_id, rows.task_id FROM rows ORDER BY rows.question, rows.content ON CONFLICT DO NOTHING
