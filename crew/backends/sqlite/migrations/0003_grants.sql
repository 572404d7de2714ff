CREATE TABLE grants (
    id TEXT PRIMARY KEY,
    definition TEXT NOT NULL,
    given_at TEXT NOT NULL,
    until TEXT NOT NULL,
    document TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX grants_of_tools ON grants (definition);
