-- So that all that is of a user is found.
ALTER TABLE crew_runs ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
UPDATE crew_runs SET user_id = row::json ->> 'user_id'
WHERE coalesce(row::json ->> 'user_id', '') <> '';
CREATE INDEX crew_runs_of_users ON crew_runs (user_id, run_id) WHERE user_id <> '';
ALTER TABLE crew_audit ADD COLUMN user_id text COLLATE "C" NOT NULL DEFAULT '';
CREATE INDEX crew_audit_of_users ON crew_audit (user_id) WHERE user_id <> '';
CREATE TABLE crew_erasures (
    digest text COLLATE "C" NOT NULL,
    requested_at text COLLATE "C" NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (digest, requested_at)
);
