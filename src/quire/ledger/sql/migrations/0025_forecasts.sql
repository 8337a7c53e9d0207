-- Forecasts: what every stage of a run was forecast to take of each of its models when the run began.

CREATE TABLE stage_forecasts (
    run_id INTEGER NOT NULL REFERENCES runs (id),
    ordinal INTEGER NOT NULL,            -- in the order of the recipe
    stage TEXT NOT NULL,
    model TEXT NOT NULL,
    tasks INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    low INTEGER NOT NULL,                -- picodollars
    cost INTEGER NOT NULL,               -- picodollars, as expected
    high INTEGER NOT NULL,               -- picodollars
    PRIMARY KEY (run_id, ordinal)
) STRICT, WITHOUT ROWID;
