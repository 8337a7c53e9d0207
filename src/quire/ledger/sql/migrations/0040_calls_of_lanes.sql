-- A page of a run's calls is found without a look at all of them, whatever state they are in. Of an expression, so that who
-- looks for the queued or closed ones of a lane never takes it for one of their own smaller indexes.

CREATE INDEX requests_lane ON requests ((lane_id + 0), id);
