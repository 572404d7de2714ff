-- nearly all runs are completed: whoever wants others must not look at those
DROP INDEX crew_runs_open;
CREATE INDEX crew_runs_not_completed ON crew_runs (status, run_id) WHERE status <> 'completed';
-- of most that have ended no events are left
CREATE INDEX crew_runs_with_events ON crew_runs (ended_at) WHERE last_seq - purged_seq > 0;
