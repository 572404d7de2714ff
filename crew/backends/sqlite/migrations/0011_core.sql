CREATE TABLE core (
    owner TEXT NOT NULL,
    block TEXT NOT NULL,
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (owner, block, version)
) WITHOUT ROWID;
