-- each index is a page more to write with a run's start, its end, or both
DROP INDEX runs_of_revisions;
DROP INDEX ended_runs;
DROP INDEX ended_with_events;
CREATE INDEX ended_runs ON runs (revision, last_seq > purged_seq, ended_at)
    WHERE ended_at IS NOT NULL;
-- few have so many
DROP INDEX kept_events;
CREATE INDEX long_runs ON runs (last_seq - purged_seq)
    WHERE last_seq - purged_seq > 1000 AND ended_at IS NOT NULL;
-- in the order of their ends: new entries come side by side
DROP INDEX bytes_of_owners;
CREATE INDEX bytes_of_owners ON runs (owner, ended_at, bytes)
    WHERE bytes > 0 AND ended_at IS NOT NULL;
