CREATE TABLE recall_owners (owner TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE recall (
    owner TEXT NOT NULL,
    -- of the owner's items, by which words point to them
    number INTEGER NOT NULL,
    item_id TEXT NOT NULL,
    -- of the text, and the key as it is compared
    digest TEXT NOT NULL,
    key TEXT NOT NULL,
    importance REAL NOT NULL,
    -- when it was last said, and last used: days since 1970
    seen_day REAL NOT NULL,
    used_day REAL NOT NULL,
    length INTEGER NOT NULL,
    -- '' for a live one
    replaced_by TEXT NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;
CREATE UNIQUE INDEX recall_by_id ON recall (owner, item_id);
CREATE UNIQUE INDEX recall_by_text ON recall (owner, digest);
CREATE UNIQUE INDEX recall_by_key ON recall (owner, key) WHERE key <> '' AND replaced_by = '';
CREATE INDEX recall_live ON recall (owner, replaced_by, length);
CREATE INDEX recall_by_use ON recall (used_day);
CREATE TABLE recall_terms (
    owner TEXT NOT NULL,
    term TEXT NOT NULL,
    number INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (owner, term, number)
) WITHOUT ROWID;
CREATE INDEX terms_of_recall ON recall_terms (owner, number);
-- a search reads many items, and few of their texts
CREATE TABLE recall_documents (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;
