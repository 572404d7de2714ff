CREATE TABLE crew_grants (
    id text COLLATE "C" PRIMARY KEY,
    definition text NOT NULL,
    given_at text COLLATE "C" NOT NULL,
    until text COLLATE "C" NOT NULL,
    document text NOT NULL
);
CREATE INDEX crew_grants_of_tools ON crew_grants (definition);
