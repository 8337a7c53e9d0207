"""Tests of the client, against a server in this process."""
