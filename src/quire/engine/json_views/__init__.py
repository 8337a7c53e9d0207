"""JSON views: what the command line prints with --json, and the HTTP API answers."""
