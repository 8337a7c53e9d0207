"""Recipe files and Python objects become checked recipes and schemas."""
