"""What the pages say is so: examples run, links lead somewhere, lists are true."""
