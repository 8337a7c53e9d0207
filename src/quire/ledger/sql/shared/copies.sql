-- name: blocks_of_document
-- All of a document, in order, to take it elsewhere.
SELECT block_index, block_type, locator, headings, content FROM blocks
WHERE workspace_id = :workspace AND document_id = :document ORDER BY block_index
