-- name: database_facts
-- Asked in PostgreSQL's own words.
SELECT version, tables_version, bytes, clock, used, most
FROM (SELECT current_setting('server_version') AS version, (SELECT max(version) FROM quire_version) AS tables_version,
    pg_database_size(current_database()) AS bytes,
    CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS INTEGER) AS clock,
    (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
    CAST(current_setting('max_connections') AS INTEGER) AS most) AS facts

-- name: file_damages
-- PostgreSQL looks after its own files.
SELECT said FROM (SELECT 'ok' AS said) AS damages
