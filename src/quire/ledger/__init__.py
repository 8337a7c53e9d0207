"""The durable truth: the only package that knows SQL, on SQLite and PostgreSQL."""
