ALTER TABLE runs ADD COLUMN owner TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
UPDATE runs SET owner = coalesce(row ->> 'owner', '');
CREATE INDEX bytes_of_owners ON runs (owner, bytes) WHERE bytes > 0;
