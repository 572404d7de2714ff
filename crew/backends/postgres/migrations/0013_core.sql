-- Core memory: blocks of a user, a conversation or the crew, in versions.
CREATE TABLE crew_core (
    owner text COLLATE "C" NOT NULL,
    block text COLLATE "C" NOT NULL,
    version integer NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (owner, block, version)
);
