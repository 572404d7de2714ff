CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    row TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX open_runs ON runs (status, run_id) WHERE status IN ('running', 'paused');
CREATE TABLE events (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    public TEXT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);
