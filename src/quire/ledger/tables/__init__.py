"""Tables: rows become domain values here and nowhere else, one file a noun."""
