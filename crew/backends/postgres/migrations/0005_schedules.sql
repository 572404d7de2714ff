CREATE TABLE crew_schedules (
    name text COLLATE "C" PRIMARY KEY,
    version integer NOT NULL,
    document text NOT NULL
);
