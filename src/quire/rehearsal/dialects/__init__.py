"""The vendors' wire formats as a server speaks them: one file an endpoint."""
