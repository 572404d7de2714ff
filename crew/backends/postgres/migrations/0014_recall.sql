-- Recall memory: items of a user or a conversation, with the words by which they are found.
CREATE TABLE crew_recall_owners (owner text COLLATE "C" PRIMARY KEY);
CREATE TABLE crew_recall (
    owner text COLLATE "C" NOT NULL,
    -- of the owner's items, by which words point to them
    number bigint NOT NULL,
    item_id text COLLATE "C" NOT NULL,
    -- of the text, and the key as it is compared
    digest text COLLATE "C" NOT NULL,
    key text COLLATE "C" NOT NULL,
    importance double precision NOT NULL,
    -- when it was last said, and last used: days since 1970
    seen_day double precision NOT NULL,
    used_day double precision NOT NULL,
    length integer NOT NULL,
    -- '' for a live one
    replaced_by text COLLATE "C" NOT NULL,
    PRIMARY KEY (owner, number)
);
CREATE UNIQUE INDEX crew_recall_by_id ON crew_recall (owner, item_id);
CREATE UNIQUE INDEX crew_recall_by_text ON crew_recall (owner, digest);
CREATE UNIQUE INDEX crew_recall_by_key ON crew_recall (owner, key)
    WHERE key <> '' AND replaced_by = '';
CREATE INDEX crew_recall_live ON crew_recall (owner, replaced_by, length);
CREATE INDEX crew_recall_by_use ON crew_recall (used_day);
CREATE TABLE crew_recall_terms (
    owner text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    uses integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (owner, term, number)
);
CREATE INDEX crew_terms_of_recall ON crew_recall_terms (owner, number);
-- a search reads many items, and few of their texts
CREATE TABLE crew_recall_documents (
    owner text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (owner, number)
);
