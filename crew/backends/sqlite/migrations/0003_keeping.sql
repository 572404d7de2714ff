ALTER TABLE runs ADD COLUMN ended_at TEXT;
ALTER TABLE runs ADD COLUMN paused_until TEXT;
ALTER TABLE runs ADD COLUMN events INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN swept INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET ended_at = json_extract(row, '$.ended_at'),
    events = (SELECT coalesce(max(seq), 0) FROM events WHERE events.run_id = runs.run_id);
UPDATE runs SET row = json_set(row, '$.events', events) WHERE status <> 'running';
CREATE INDEX ended_runs ON runs (ended_at) WHERE ended_at IS NOT NULL;
CREATE INDEX kept_events ON runs (events - swept) WHERE ended_at IS NOT NULL;
CREATE INDEX due_runs ON runs (paused_until) WHERE paused_until IS NOT NULL;
CREATE TABLE receipts (
    key TEXT PRIMARY KEY,
    fingerprint TEXT NOT NULL,
    run_id TEXT NOT NULL,
    before INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX receipts_of_runs ON receipts (run_id);
