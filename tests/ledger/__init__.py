"""One behavioural suite for the ledger, on SQLite and on PostgreSQL."""
