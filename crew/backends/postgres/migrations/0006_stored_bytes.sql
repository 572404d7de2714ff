ALTER TABLE crew_runs ADD COLUMN bytes bigint NOT NULL DEFAULT 0;
CREATE INDEX crew_bytes_of_owners ON crew_runs (owner, bytes) WHERE bytes > 0;
