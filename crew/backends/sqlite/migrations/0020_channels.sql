-- what came of the notices of each channel, in all
CREATE TABLE channels (
    name TEXT PRIMARY KEY,
    sent INTEGER NOT NULL,
    -- RFC 3339, UTC; "": never
    sent_at TEXT NOT NULL,
    given_up INTEGER NOT NULL,
    given_up_at TEXT NOT NULL,
    failed_at TEXT NOT NULL,
    error TEXT NOT NULL
) WITHOUT ROWID;
