-- Ids in a request's answers that it never sent, or that were answered more than once.

ALTER TABLE requests ADD COLUMN stray_ids TEXT;  -- as JSON; NULL: there were none
