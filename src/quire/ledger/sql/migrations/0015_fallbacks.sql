-- Fallbacks: the weaker way in which a model at an address is asked, because it refuses a part of all calls.

CREATE TABLE fallbacks (
    workspace_id TEXT NOT NULL,
    model TEXT NOT NULL,
    address TEXT NOT NULL,               -- the base URL without secrets; '' = where its vendor is found
    part TEXT NOT NULL,
    way TEXT NOT NULL,
    problem TEXT NOT NULL,               -- what the server said
    since INTEGER NOT NULL,
    PRIMARY KEY (workspace_id, model, address, part)
) STRICT, WITHOUT ROWID;
