-- name: find_document
-- The document of this conversion, if it is here already.
SELECT id FROM documents WHERE workspace_id = :workspace AND conv_uid = :conv_uid

-- name: add_document
-- rows: id int, workspace_id text, source_uid text, source_type text, source_filesize int, source_total_characters int, source_locator text, title text, uploaded_at int, conv_uid text, conv_parsing_tool text, conv_representation_type text, conv_total_blocks int, conv_block_type_freq text, conv_total_characters int, aside int, result_id int
INSERT INTO documents (id, workspace_id, source_uid, source_type, source_filesize, source_total_characters, source_locator, title, uploaded_at, conv_uid, conv_parsing_tool, conv_representation_type, conv_total_blocks, conv_block_type_freq, conv_total_characters, aside, result_id)
SELECT rows.id, rows.workspace_id, rows.source_uid, rows.source_type, rows.source_filesize, rows.source_total_characters, rows.source_locator, rows.title, rows.uploaded_at, rows.conv_uid, rows.conv_parsing_tool, rows.conv_representation_type, rows.conv_total_blocks, rows.conv_block_type_freq, rows.conv_total_characters, rows.aside, rows.result_id FROM rows

-- name: set_document_counts
-- What was learnt of a document while its blocks streamed in.
UPDATE documents SET conv_total_blocks = :blocks, conv_block_type_freq = :freq, conv_total_characters = :characters
WHERE workspace_id = :workspace AND id = :id

-- name: list_documents
-- Every document that is still here, oldest first.
SELECT id, source_uid, source_type, source_filesize, source_total_characters, source_locator, title, uploaded_at, conv_uid, conv_parsing_tool, conv_representation_type, conv_total_blocks, conv_block_type_freq, conv_total_characters
FROM documents WHERE workspace_id = :workspace AND purged_at IS NULL ORDER BY id

-- name: document_names
-- Keys and fingerprints only: what a run's inputs are named by.
SELECT id, conv_uid FROM documents WHERE workspace_id = :workspace AND purged_at IS NULL ORDER BY id

-- name: usual_documents
-- What a run is about that does not say: all that was ingested and is still at a path, and nothing that came with another run.
SELECT id FROM documents WHERE workspace_id = :workspace AND purged_at IS NULL AND aside = 0
  AND EXISTS (SELECT 1 FROM sources s WHERE s.workspace_id = :workspace AND s.document_id = documents.id AND s.retired_at IS NULL)
ORDER BY id

-- name: ingest_document_again
-- A document that came with a run was ingested for all.
UPDATE documents SET aside = 0 WHERE workspace_id = :workspace AND id = :id AND aside = 1

-- name: put_aside
-- Whether runs that do not name these are about them.
UPDATE documents SET aside = :aside WHERE workspace_id = :workspace AND id IN (:ids...) AND aside <> :aside AND purged_at IS NULL

-- name: match_documents
-- Documents by number, title, path, file name, or the start of a fingerprint, each with how well it matches: by its number,
-- by what it is called, by what it was called before another document took its place.
SELECT d.id, d.source_uid, d.source_type, d.source_filesize, d.source_total_characters, d.source_locator, d.title, d.uploaded_at, d.conv_uid, d.conv_parsing_tool, d.conv_representation_type, d.conv_total_blocks, d.conv_block_type_freq, d.conv_total_characters,
    min(CASE WHEN CAST(d.id AS TEXT) = :name THEN 0 WHEN s.retired_at IS NOT NULL AND NOT (d.conv_uid LIKE :start OR d.source_uid LIKE :start) THEN 2 ELSE 1 END) AS rank
FROM documents d LEFT JOIN sources s ON s.document_id = d.id AND s.workspace_id = :workspace
WHERE d.workspace_id = :workspace AND d.purged_at IS NULL
  AND (CAST(d.id AS TEXT) = :name OR s.title = :name OR s.path = :name OR s.path LIKE :tail ESCAPE '\' OR d.conv_uid LIKE :start OR d.source_uid LIKE :start)
GROUP BY d.id ORDER BY rank, d.id LIMIT 3

-- name: add_blocks
-- Blocks that say what none said before.
-- rows: id int, block_index int, block_type text, locator text, headings text, content text, content_hash bytes, json_bytes int
INSERT INTO blocks (id, block_index, block_type, locator, headings, content, content_hash, json_bytes, workspace_id, document_id)
SELECT rows.id, rows.block_index, rows.block_type, rows.locator, rows.headings, rows.content, rows.content_hash, rows.json_bytes, :workspace, :document FROM rows

-- name: add_repeating_blocks
-- Blocks that say what an earlier one did.
-- rows: id int, content_id int, block_index int, block_type text, locator text, headings text, content text, content_hash bytes, json_bytes int
INSERT INTO blocks (id, content_id, block_index, block_type, locator, headings, content, content_hash, json_bytes, workspace_id, document_id)
SELECT rows.id, rows.content_id, rows.block_index, rows.block_type, rows.locator, rows.headings, rows.content, rows.content_hash, rows.json_bytes, :workspace, :document FROM rows

-- name: first_blocks
-- The first blocks whose contents have some numbers.
SELECT c.number, min(b.id) FROM contents c JOIN blocks b ON b.id = c.block_id AND b.workspace_id = :workspace
WHERE c.number IN (:numbers...) GROUP BY c.number

-- name: add_contents
-- rows: number int, block_id int
INSERT INTO contents (number, block_id) SELECT rows.number, rows.block_id FROM rows

-- name: block_sizes
-- The size of every block of some documents, in subject order: all a forecast needs.
SELECT b.json_bytes FROM blocks b JOIN documents d ON d.id = b.document_id
WHERE d.workspace_id = :workspace AND b.workspace_id = :workspace AND d.id IN (:documents...)
ORDER BY d.id, b.block_index

-- name: block_sizes_from
-- The sizes of some neighbours in a document, from a place on.
SELECT json_bytes, length(content) FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND block_index >= :index ORDER BY block_index LIMIT :limit

-- name: first_block_sizes
-- The sizes of the first blocks of some documents, in order.
SELECT json_bytes, length(content) FROM blocks
WHERE workspace_id = :workspace AND document_id IN (:documents...) ORDER BY document_id, block_index LIMIT :limit

-- name: block_sizes_of_types
-- The same of blocks of some types.
SELECT b.json_bytes FROM blocks b JOIN documents d ON d.id = b.document_id
WHERE d.workspace_id = :workspace AND b.workspace_id = :workspace AND d.id IN (:documents...) AND b.block_type IN (:types...)
ORDER BY d.id, b.block_index

-- name: blocks_of_types
-- Where the blocks of some types stand, in subject order.
SELECT document_id, block_index FROM blocks
WHERE workspace_id = :workspace AND document_id IN (:documents...) AND block_type IN (:types...)
ORDER BY document_id, block_index

-- name: documents_with_pages
-- Those of some documents whose blocks say on which page, or slide, they are.
SELECT id FROM documents WHERE workspace_id = :workspace AND id IN (:documents...)
  AND EXISTS (SELECT 1 FROM blocks b WHERE b.workspace_id = :workspace AND b.document_id = documents.id
    AND (b.locator LIKE :page OR b.locator LIKE :slide))
ORDER BY id

-- name: outline_of_document
-- The blocks of a document as one sees them who divides it: of what they say, only headings.
SELECT block_index, headings, CASE WHEN block_type = 'heading' THEN content ELSE '' END, locator, json_bytes FROM blocks
WHERE workspace_id = :workspace AND document_id = :document ORDER BY block_index

-- name: located_texts
-- Blocks of a document that follow each other, each with where it stands in its source.
SELECT locator, content FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND block_index BETWEEN :first AND :last ORDER BY block_index

-- name: count_blocks
SELECT coalesce(CAST(sum(conv_total_blocks) AS INTEGER), 0) FROM documents
WHERE workspace_id = :workspace AND id IN (:documents...)

-- name: subjects_after
-- The next blocks of a run's inputs, in order, after a document ordinal and a block index.
SELECT rd.ordinal, b.block_index, b.id
FROM run_documents rd JOIN blocks b ON b.document_id = rd.document_id AND b.workspace_id = :workspace
WHERE rd.run_id = :run AND rd.ordinal >= :ordinal
  AND b.block_index > CASE WHEN rd.ordinal = :ordinal THEN CAST(:index AS INTEGER) ELSE -1 END
ORDER BY rd.ordinal, b.block_index LIMIT :limit

-- name: is_sampled
-- Whether a run is over some blocks of its documents only.
SELECT 1 FROM run_blocks WHERE run_id = :run LIMIT 1

-- name: sampled_subjects_after
-- The next blocks of a run's sample, in order, after a document ordinal and a block index.
SELECT rb.ordinal, b.block_index, b.id
FROM run_blocks rb JOIN run_documents rd ON rd.run_id = rb.run_id AND rd.ordinal = rb.ordinal
JOIN blocks b ON b.document_id = rd.document_id AND b.block_index = rb.block_index AND b.workspace_id = :workspace
WHERE rb.run_id = :run AND (rb.ordinal > :ordinal OR (rb.ordinal = :ordinal AND rb.block_index > :index))
ORDER BY rb.ordinal, rb.block_index LIMIT :limit

-- name: count_fitting_blocks
-- How many blocks of each of some documents are no larger than that.
SELECT d.id, count(*) FROM documents d JOIN blocks b ON b.document_id = d.id AND b.workspace_id = :workspace
WHERE d.workspace_id = :workspace AND d.id IN (:documents...) AND b.json_bytes <= :most
GROUP BY d.id ORDER BY d.id

-- name: fitting_blocks
SELECT block_index, json_bytes FROM blocks
WHERE workspace_id = :workspace AND document_id = :document AND json_bytes <= :most ORDER BY block_index
