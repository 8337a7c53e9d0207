"""Reading files: every format, and everything that can be wrong with one."""
