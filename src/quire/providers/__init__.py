"""Vendors, one file each: how a call is sent and how its response is read."""
