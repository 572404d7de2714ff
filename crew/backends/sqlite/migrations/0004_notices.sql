CREATE TABLE notices (
    id TEXT PRIMARY KEY,
    channel TEXT NOT NULL,
    made_at TEXT NOT NULL,
    due_at TEXT NOT NULL,
    tries INTEGER NOT NULL DEFAULT 0,
    document TEXT NOT NULL
) WITHOUT ROWID;
CREATE INDEX notices_by_time ON notices (channel, due_at);
