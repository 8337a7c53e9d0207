-- Edits: what persons wrote in the place of answers is looked for when the same is asked about the same subject again.

CREATE INDEX results_edited ON results (task_id) WHERE origin = 'person' AND superseded_at IS NULL;
