CREATE TABLE runs (
    run_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    row TEXT NOT NULL,
    answer TEXT,
    revision TEXT NOT NULL,
    epoch INTEGER NOT NULL DEFAULT 1,
    claims INTEGER NOT NULL DEFAULT 0,
    claimed_seq INTEGER NOT NULL DEFAULT 0,
    to_cancel TEXT,
    ended_at TEXT,
    paused_until TEXT,
    -- until when its due pause is given to a process that ends it
    given_until TEXT,
    last_seq INTEGER NOT NULL DEFAULT 0,
    purged_seq INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX open_runs ON runs (status, run_id) WHERE status IN ('running', 'paused');
CREATE INDEX runs_of_revisions ON runs (revision);
CREATE INDEX ended_runs ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX kept_events ON runs (last_seq - purged_seq) WHERE ended_at IS NOT NULL;
CREATE INDEX due_pauses ON runs (paused_until) WHERE paused_until IS NOT NULL;
CREATE INDEX cancellations ON runs (run_id) WHERE to_cancel IS NOT NULL AND ended_at IS NULL;
CREATE TABLE events (
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    public TEXT NOT NULL,
    event TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE TABLE revisions (
    revision TEXT PRIMARY KEY,
    files TEXT NOT NULL,
    kept_at TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE idempotency_records (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    run_id TEXT NOT NULL,
    before INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX idempotency_records_of_runs ON idempotency_records (run_id);
