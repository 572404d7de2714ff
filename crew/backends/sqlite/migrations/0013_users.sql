-- so that all that is of a user is found
ALTER TABLE runs ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
UPDATE runs SET user_id = coalesce(json_extract(row, '$.user_id'), '')
WHERE coalesce(json_extract(row, '$.user_id'), '') <> '';
CREATE INDEX runs_of_users ON runs (user_id, run_id) WHERE user_id <> '';
ALTER TABLE audit ADD COLUMN user_id TEXT NOT NULL DEFAULT '';
CREATE INDEX audit_of_users ON audit (user_id) WHERE user_id <> '';
CREATE TABLE erasures (
    digest TEXT NOT NULL,
    requested_at TEXT NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (digest, requested_at)
) WITHOUT ROWID;
