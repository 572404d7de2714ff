-- when each revision was the current one, by whom and why
CREATE TABLE loads (
    number INTEGER PRIMARY KEY,
    revision TEXT NOT NULL,
    loaded_at TEXT NOT NULL,
    source TEXT NOT NULL,
    name TEXT NOT NULL,
    why TEXT NOT NULL,
    warnings INTEGER NOT NULL,
    -- JSON: digests of files that are no part of it
    programs TEXT NOT NULL
);
CREATE INDEX loads_of_revisions ON loads (revision, number);
