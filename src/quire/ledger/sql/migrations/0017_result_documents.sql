-- Results as documents: a later run reads what an earlier one wrote.

ALTER TABLE documents ADD COLUMN result_id INTEGER REFERENCES results (id);  -- that it is made of; NULL: it was ingested

CREATE UNIQUE INDEX documents_result ON documents (result_id) WHERE result_id IS NOT NULL AND purged_at IS NULL;  -- a result is one document
