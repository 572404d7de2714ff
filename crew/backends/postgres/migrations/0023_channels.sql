-- what came of the notices of each channel, in all
CREATE TABLE crew_channels (
    name text COLLATE "C" PRIMARY KEY,
    sent bigint NOT NULL,
    -- RFC 3339, UTC; "": never
    sent_at text COLLATE "C" NOT NULL,
    given_up bigint NOT NULL,
    given_up_at text COLLATE "C" NOT NULL,
    failed_at text COLLATE "C" NOT NULL,
    error text NOT NULL
);
