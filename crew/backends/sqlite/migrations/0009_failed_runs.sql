-- an owner may have few of the many that have failed; only those are written here
CREATE INDEX failed_runs_of_owners ON runs (owner, status, run_id)
    WHERE owner <> '' AND status IN ('failed', 'cancelled');
