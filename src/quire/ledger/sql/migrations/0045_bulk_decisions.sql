-- What was decided at once is known as such, so that it can be taken back at once.

ALTER TABLE reviews ADD COLUMN bulk TEXT;    -- the same in all decisions of one bulk; NULL: made alone

CREATE INDEX reviews_bulk ON reviews (run_id, bulk, id) WHERE bulk IS NOT NULL;
