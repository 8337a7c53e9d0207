"""Judge experiments: their files, seeds, tasks, tables, figures and pages."""
