-- which pages show a run that waits; it need not outlive a crash of the database
CREATE UNLOGGED TABLE crew_viewers (
    run_id text NOT NULL,
    viewer text NOT NULL,
    name text NOT NULL,
    since text COLLATE "C" NOT NULL,
    until text COLLATE "C" NOT NULL,
    PRIMARY KEY (run_id, viewer)
);
