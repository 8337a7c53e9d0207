-- name: block_sizes
-- As on SQLite; document by document through the index.
SELECT b.json_bytes FROM (SELECT id FROM documents WHERE workspace_id = :workspace AND id IN (:documents...) ORDER BY id OFFSET 0) AS d
CROSS JOIN LATERAL (SELECT json_bytes, block_index FROM blocks
    WHERE document_id = d.id AND workspace_id = :workspace ORDER BY block_index OFFSET 0) AS b
ORDER BY d.id, b.block_index

-- name: subjects_after
-- As on SQLite. PostgreSQL would sort a whole document for every chunk of it: here each document gives one chunk, in order.
SELECT rd.ordinal, b.block_index, b.id
FROM run_documents rd CROSS JOIN LATERAL (
    SELECT id, block_index FROM blocks
    WHERE document_id = rd.document_id AND workspace_id = :workspace
      AND block_index > CASE WHEN rd.ordinal = :ordinal THEN CAST(:index AS INTEGER) ELSE -1 END
    ORDER BY block_index LIMIT :limit) AS b
WHERE rd.run_id = :run AND rd.ordinal >= :ordinal
ORDER BY rd.ordinal, b.block_index LIMIT :limit
