"""Judge experiments: how models judge evidence on scales that models wrote themselves."""
