-- which pages show a run that waits
CREATE TABLE viewers (
    run_id TEXT NOT NULL,
    viewer TEXT NOT NULL,
    name TEXT NOT NULL,
    since TEXT NOT NULL,
    until TEXT NOT NULL,
    PRIMARY KEY (run_id, viewer)
) WITHOUT ROWID;
