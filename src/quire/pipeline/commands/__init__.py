"""Commands: what a person asks for: start, pause, cancel, retry, regate, decide, ingest, purge."""
