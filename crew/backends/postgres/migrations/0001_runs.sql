CREATE TABLE crew_runs (
    run_id text COLLATE "C" PRIMARY KEY,
    status text NOT NULL,
    row text NOT NULL,
    answer text,
    revision text COLLATE "C" NOT NULL,
    epoch bigint NOT NULL DEFAULT 1,
    owner text NOT NULL DEFAULT '',
    priority int NOT NULL DEFAULT 5,
    claims int NOT NULL DEFAULT 0,
    claimed_seq bigint NOT NULL DEFAULT 0,
    to_cancel text,
    ended_at text COLLATE "C",
    paused_until text COLLATE "C",
    -- until when its due pause is given to a process that ends it
    given_until timestamptz,
    last_seq bigint NOT NULL DEFAULT 0,
    purged_seq bigint NOT NULL DEFAULT 0
);
CREATE INDEX crew_runs_open ON crew_runs (status, run_id) WHERE status IN ('running', 'paused');
CREATE INDEX crew_runs_of_owners ON crew_runs (owner) WHERE status = 'running';
CREATE INDEX crew_runs_by_owner ON crew_runs (owner, run_id);
CREATE INDEX crew_runs_of_revisions ON crew_runs (revision);
CREATE INDEX crew_runs_ended ON crew_runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX crew_runs_kept ON crew_runs ((last_seq - purged_seq)) WHERE ended_at IS NOT NULL;
CREATE INDEX crew_runs_due ON crew_runs (paused_until) WHERE paused_until IS NOT NULL;
CREATE INDEX crew_runs_to_cancel ON crew_runs (run_id) 
    WHERE to_cancel IS NOT NULL AND ended_at IS NULL;
CREATE TABLE crew_events (
    run_id text COLLATE "C" NOT NULL,
    seq bigint NOT NULL,
    public text NOT NULL,
    event text NOT NULL,
    PRIMARY KEY (run_id, seq)
);
CREATE TABLE crew_revisions (
    revision text COLLATE "C" PRIMARY KEY,
    files text NOT NULL,
    kept_at text COLLATE "C" NOT NULL
);
CREATE TABLE crew_idempotency_records (
    key text COLLATE "C" PRIMARY KEY,
    fingerprint text NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    before bigint NOT NULL
);
CREATE INDEX crew_idempotency_records_of_runs ON crew_idempotency_records (run_id);
-- logged: an empty one after a crash would end runs that somebody listens to elsewhere
CREATE TABLE crew_listeners (
    run_id text COLLATE "C" NOT NULL,
    process text NOT NULL,
    until timestamptz NOT NULL,
    PRIMARY KEY (run_id, process)
);
CREATE INDEX crew_listeners_until ON crew_listeners (until);
-- a crash empties it: workers announce themselves again within a second
CREATE UNLOGGED TABLE crew_workers (
    id bigint PRIMARY KEY,
    until timestamptz NOT NULL
);
-- model calls of agents with `max_concurrent`; a crash empties it, and some may be made too many
CREATE UNLOGGED TABLE crew_places (
    holder text PRIMARY KEY,
    name text NOT NULL,
    -- the order in which they asked
    number bigint GENERATED ALWAYS AS IDENTITY,
    until timestamptz NOT NULL
);
CREATE INDEX crew_places_of_names ON crew_places (name, number);
-- the turn of each owner's newest waiting run; a crash empties it, and the owners begin anew
CREATE UNLOGGED TABLE crew_turns (
    owner text NOT NULL,
    priority int NOT NULL,
    turn int NOT NULL,
    run_id text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, priority)
);
-- the crew whose runs these are; one row
CREATE TABLE crew_owner (
    one boolean PRIMARY KEY CHECK (one),
    crew text NOT NULL
);
CREATE TABLE crew_probe (
    one boolean PRIMARY KEY CHECK (one),
    at timestamptz NOT NULL
);
