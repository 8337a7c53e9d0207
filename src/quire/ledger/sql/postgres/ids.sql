-- name: next_ids
SELECT nextval(CAST(:sequence AS regclass)) FROM generate_series(1, :count)
