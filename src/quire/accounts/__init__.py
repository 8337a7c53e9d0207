"""Accounts: as whom calls go out; functions over the caller's transaction."""
