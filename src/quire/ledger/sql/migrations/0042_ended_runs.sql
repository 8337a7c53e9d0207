-- What became of a run is told in one tense: started, finished, cancelled.

UPDATE events SET kind = 'run_finished' WHERE kind = 'run_finish';
UPDATE events SET kind = 'run_cancelled' WHERE kind = 'run_cancel';
