CREATE TABLE conversations (
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    used_at TEXT NOT NULL,
    -- the run that is at work or paused
    busy TEXT,
    document TEXT NOT NULL,
    PRIMARY KEY (owner, conversation_id)
) WITHOUT ROWID;
CREATE INDEX conversations_by_use ON conversations (owner, used_at, conversation_id);
CREATE INDEX conversations_by_age ON conversations (used_at) WHERE busy IS NULL;
CREATE TABLE exchanges (
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    -- its place among those that models are shown
    position INTEGER,
    document TEXT NOT NULL,
    transcript TEXT NOT NULL,
    PRIMARY KEY (owner, conversation_id, number)
);
CREATE UNIQUE INDEX exchanges_shown ON exchanges (owner, conversation_id, position)
    WHERE position IS NOT NULL;
CREATE TABLE summaries (
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    version INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (owner, conversation_id, version)
) WITHOUT ROWID;
CREATE TABLE conversation_queue (
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    number INTEGER NOT NULL,
    run_id TEXT NOT NULL,
    PRIMARY KEY (owner, conversation_id, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX queue_of_runs ON conversation_queue (run_id);
CREATE TABLE chores (
    kind TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    due_at TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    -- it became necessary again while somebody does it
    again INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (kind, owner, key)
) WITHOUT ROWID;
CREATE INDEX chores_by_time ON chores (due_at);
ALTER TABLE runs ADD COLUMN conversation_owner TEXT;
ALTER TABLE runs ADD COLUMN conversation_id TEXT;
CREATE INDEX runs_of_conversations ON runs (conversation_owner, conversation_id)
    WHERE conversation_id IS NOT NULL;
