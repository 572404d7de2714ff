CREATE TABLE schedules (
    name TEXT PRIMARY KEY,
    version INTEGER NOT NULL,
    document TEXT NOT NULL
) WITHOUT ROWID;
