"""The web pages: HTML made on the server, a small script, and one look for all of them."""
