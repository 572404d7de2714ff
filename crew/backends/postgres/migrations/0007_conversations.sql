CREATE TABLE crew_conversations (
    owner text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    used_at text COLLATE "C" NOT NULL,
    -- the run that is at work or paused
    busy text,
    document text NOT NULL,
    PRIMARY KEY (owner, conversation_id)
);
CREATE INDEX crew_conversations_by_use ON crew_conversations (owner, used_at, conversation_id);
CREATE INDEX crew_conversations_by_age ON crew_conversations (used_at) WHERE busy IS NULL;
CREATE TABLE crew_exchanges (
    owner text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    number int NOT NULL,
    -- its place among those that models are shown
    position int,
    document text NOT NULL,
    transcript text NOT NULL,
    PRIMARY KEY (owner, conversation_id, number)
);
CREATE UNIQUE INDEX crew_exchanges_shown ON crew_exchanges (owner, conversation_id, position)
    WHERE position IS NOT NULL;
CREATE TABLE crew_summaries (
    owner text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    version int NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (owner, conversation_id, version)
);
CREATE TABLE crew_conversation_queue (
    owner text COLLATE "C" NOT NULL,
    conversation_id text COLLATE "C" NOT NULL,
    number int NOT NULL,
    run_id text COLLATE "C" NOT NULL UNIQUE,
    PRIMARY KEY (owner, conversation_id, number)
);
CREATE TABLE crew_chores (
    kind text NOT NULL,
    owner text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    due_at text COLLATE "C" NOT NULL,
    attempts int NOT NULL DEFAULT 0,
    -- it became necessary again while somebody does it
    again boolean NOT NULL DEFAULT false,
    PRIMARY KEY (kind, owner, key)
);
CREATE INDEX crew_chores_by_time ON crew_chores (due_at);
ALTER TABLE crew_runs ADD COLUMN conversation_owner text COLLATE "C";
ALTER TABLE crew_runs ADD COLUMN conversation_id text COLLATE "C";
CREATE INDEX crew_runs_of_conversations ON crew_runs (conversation_owner, conversation_id)
    WHERE conversation_id IS NOT NULL;
