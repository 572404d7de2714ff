CREATE TABLE revisions (
    revision TEXT PRIMARY KEY,
    files TEXT NOT NULL
) WITHOUT ROWID;
