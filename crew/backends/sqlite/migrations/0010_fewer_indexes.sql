-- each index is a page more to write with a run's start, its end, or both
DROP INDEX IF EXISTS runs_of_revisions;
DROP INDEX IF EXISTS ended_runs;
DROP INDEX IF EXISTS ended_with_events;
CREATE INDEX ended_runs ON runs (revision, last_seq > purged_seq, ended_at)
    WHERE ended_at IS NOT NULL;
-- few have so many
DROP INDEX IF EXISTS kept_events;
DROP INDEX IF EXISTS long_runs;
CREATE INDEX long_runs ON runs (last_seq - purged_seq)
    WHERE last_seq - purged_seq > 1000 AND ended_at IS NOT NULL;
-- in the order of their ends: new entries come side by side
DROP INDEX IF EXISTS bytes_of_owners;
CREATE INDEX bytes_of_owners ON runs (owner, ended_at, bytes) WHERE bytes > 0;
