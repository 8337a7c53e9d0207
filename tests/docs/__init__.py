"""What the pages say is so: their examples run, their links lead somewhere, their lists are true."""
