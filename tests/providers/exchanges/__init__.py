"""What vendors send: bodies of answers and errors, with what they mean to us."""
