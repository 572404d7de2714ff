CREATE TABLE crew_runs (
    run_id text COLLATE "C" PRIMARY KEY,
    status text NOT NULL,
    row text NOT NULL,
    epoch bigint NOT NULL DEFAULT 1,
    to_cancel boolean NOT NULL DEFAULT false,
    ended_at text COLLATE "C",
    paused_until text COLLATE "C",
    events bigint NOT NULL DEFAULT 0,
    swept bigint NOT NULL DEFAULT 0
);
CREATE INDEX crew_runs_open ON crew_runs (status, run_id) WHERE status IN ('running', 'paused');
CREATE INDEX crew_runs_ended ON crew_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX crew_runs_kept ON crew_runs ((events - swept)) WHERE ended_at IS NOT NULL;
CREATE INDEX crew_runs_due ON crew_runs (paused_until) WHERE paused_until IS NOT NULL;
CREATE INDEX crew_runs_to_cancel ON crew_runs (run_id) WHERE to_cancel AND ended_at IS NULL;
CREATE TABLE crew_events (
    run_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    public text NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE TABLE crew_revisions (
    revision text COLLATE "C" PRIMARY KEY,
    files text NOT NULL
);
CREATE TABLE crew_receipts (
    key text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    before bigint NOT NULL
);
CREATE INDEX crew_receipts_of_runs ON crew_receipts (run_id);
-- nothing is lost with it but a moment's patience
CREATE UNLOGGED TABLE crew_listeners (
    run_id text COLLATE "C" NOT NULL,
    place text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (run_id, place)
);
CREATE INDEX crew_listeners_until ON crew_listeners (until);
-- whose runs these are; one row
CREATE TABLE crew_house (
    one boolean PRIMARY KEY CHECK (one),
    crew text NOT NULL
);
CREATE TABLE crew_probe (
    one boolean PRIMARY KEY CHECK (one),
    at timestamptz NOT NULL
);
