"""Pure judgement: a response becomes a verdict for each task."""
