-- Documents: their bytes until they are read, their text, and the passages that words find.
CREATE TABLE crew_document_owners (owner text COLLATE "C" PRIMARY KEY);
CREATE TABLE crew_documents (
    owner text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    -- new: not searched yet; live; gone: deleted, and its passages are being dropped
    state text COLLATE "C" NOT NULL,
    chars bigint NOT NULL,
    -- of its passages: how many, and their words
    passages bigint NOT NULL,
    words bigint NOT NULL,
    document text NOT NULL,
    PRIMARY KEY (owner, document_id)
);
CREATE INDEX crew_documents_by_name ON crew_documents (owner, collection, name, document_id);
CREATE TABLE crew_document_files (
    owner text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    content bytea NOT NULL,
    PRIMARY KEY (owner, document_id)
);
CREATE TABLE crew_document_texts (
    owner text COLLATE "C" NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    content text NOT NULL,
    PRIMARY KEY (owner, document_id)
);
CREATE TABLE crew_document_passages (
    owner text COLLATE "C" NOT NULL,
    -- of the owner's passages, by which words point to them
    number bigint NOT NULL,
    document_id text COLLATE "C" NOT NULL,
    -- of the document's passages
    position integer NOT NULL,
    starts_at integer NOT NULL,
    ends_at integer NOT NULL,
    place text NOT NULL,
    content text NOT NULL,
    -- what it is about; '' where no one has said so
    about text NOT NULL,
    PRIMARY KEY (owner, number)
);
CREATE INDEX crew_passages_of_documents ON crew_document_passages (owner, document_id, number);
CREATE TABLE crew_document_terms (
    owner text COLLATE "C" NOT NULL,
    collection text COLLATE "C" NOT NULL,
    term text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    uses integer NOT NULL,
    length integer NOT NULL,
    PRIMARY KEY (owner, collection, term, number)
);
CREATE INDEX crew_terms_of_passages ON crew_document_terms (owner, number);
