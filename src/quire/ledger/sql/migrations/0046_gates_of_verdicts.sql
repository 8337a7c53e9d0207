-- Which gates refused an answer is kept with the verdict; of accepted answers their results say it.

ALTER TABLE request_tasks ADD COLUMN gate_version TEXT;    -- NULL: accepted, not judged, or judged by an older version
