-- nearly all runs are completed: whoever wants others must not look at those
DROP INDEX open_runs;
CREATE INDEX runs_not_completed ON runs (status, run_id) WHERE status <> 'completed';
CREATE INDEX runs_of_owners ON runs (owner, run_id) WHERE owner <> '';
-- of most that have ended no events are left
CREATE INDEX ended_with_events ON runs (ended_at) WHERE last_seq - purged_seq > 0;
