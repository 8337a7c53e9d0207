-- Contents: the first block that says something, found by a number. One index over workspaces and hashes took twice as
-- long to write, and was taken for a way to find all blocks of a workspace.

CREATE TABLE contents (
    number INTEGER NOT NULL,             -- the beginning of the content's hash; two contents may have the same
    block_id INTEGER NOT NULL,           -- there before, and stays as long: proving it would cost as much again
    PRIMARY KEY (number, block_id)
) STRICT, WITHOUT ROWID;
INSERT INTO contents (number, block_id) SELECT hash_number(content_hash), id FROM blocks WHERE content_id IS NULL;
DROP INDEX blocks_content;
