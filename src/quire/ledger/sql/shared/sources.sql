-- name: add_source
INSERT INTO sources (workspace_id, document_id, place, path, title, options, stamp, read_at)
VALUES (:workspace, :document, :place, :path, :title, :options, :stamp, :now)
ON CONFLICT (workspace_id, place, document_id) DO UPDATE SET path = excluded.path, title = excluded.title,
    options = excluded.options, stamp = excluded.stamp, read_at = excluded.read_at, retired_at = NULL

-- name: retire_sources
-- Other documents have taken their places.
UPDATE sources SET retired_at = :now WHERE workspace_id = :workspace AND id IN (:ids...) AND retired_at IS NULL

-- name: live_sources_at
-- What was read at some places, and has not made way.
SELECT id, document_id, place, path, title, options, stamp, read_at, retired_at
FROM sources WHERE workspace_id = :workspace AND place IN (:places...) AND retired_at IS NULL ORDER BY id

-- name: sources_of_documents
-- By way of the documents: by its own workspace alone SQLite would read every source there is.
SELECT s.id, s.document_id, s.place, s.path, s.title, s.options, s.stamp, s.read_at, s.retired_at
FROM documents d JOIN sources s ON s.document_id = d.id WHERE d.workspace_id = :workspace AND d.id IN (:documents...) ORDER BY s.id

-- name: sources_of_run
-- All that the documents of a run were ever read from.
SELECT s.id, s.document_id, s.place, s.path, s.title, s.options, s.stamp, s.read_at, s.retired_at
FROM run_documents rd JOIN sources s ON s.document_id = rd.document_id
WHERE s.workspace_id = :workspace AND rd.run_id = :run ORDER BY rd.ordinal, s.id

-- name: list_sources
SELECT id, document_id, place, path, title, options, stamp, read_at, retired_at
FROM sources WHERE workspace_id = :workspace ORDER BY document_id, id
