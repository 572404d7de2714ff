CREATE TABLE crew_notices (
    id text COLLATE "C" PRIMARY KEY,
    channel text COLLATE "C" NOT NULL,
    made_at text COLLATE "C" NOT NULL,
    due_at text COLLATE "C" NOT NULL,
    tries integer NOT NULL DEFAULT 0,
    document text NOT NULL
);
CREATE INDEX crew_notices_by_time ON crew_notices (channel, due_at);
