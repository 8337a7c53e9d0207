"""Calls: tasks become requests, requests go out within limits, and what comes back is recorded."""
