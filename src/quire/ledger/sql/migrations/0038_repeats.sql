-- Whether anything in a document was said before is known without a look at every block of it.

CREATE INDEX blocks_repeated ON blocks (document_id) WHERE content_id IS NOT NULL;
