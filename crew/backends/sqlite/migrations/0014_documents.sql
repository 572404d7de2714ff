CREATE TABLE document_owners (owner TEXT NOT NULL PRIMARY KEY) WITHOUT ROWID;
CREATE TABLE documents (
    owner TEXT NOT NULL,
    document_id TEXT NOT NULL,
    collection TEXT NOT NULL,
    name TEXT NOT NULL,
    -- new: not searched yet; live; gone: deleted, and its passages are being dropped
    state TEXT NOT NULL,
    chars INTEGER NOT NULL,
    -- of its passages: how many, and their words
    passages INTEGER NOT NULL,
    words INTEGER NOT NULL,
    document TEXT NOT NULL,
    PRIMARY KEY (owner, document_id)
) WITHOUT ROWID;
CREATE INDEX documents_by_name ON documents (owner, collection, name, document_id);
CREATE TABLE document_files (
    owner TEXT NOT NULL,
    document_id TEXT NOT NULL,
    content BLOB NOT NULL,
    PRIMARY KEY (owner, document_id)
);
CREATE TABLE document_texts (
    owner TEXT NOT NULL,
    document_id TEXT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (owner, document_id)
);
CREATE TABLE document_passages (
    owner TEXT NOT NULL,
    -- of the owner's passages, by which words point to them
    number INTEGER NOT NULL,
    document_id TEXT NOT NULL,
    -- of the document's passages
    position INTEGER NOT NULL,
    starts_at INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    place TEXT NOT NULL,
    content TEXT NOT NULL,
    -- what it is about; '' where no one has said so
    about TEXT NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;
CREATE INDEX passages_of_documents ON document_passages (owner, document_id, number);
CREATE TABLE document_terms (
    owner TEXT NOT NULL,
    collection TEXT NOT NULL,
    term TEXT NOT NULL,
    number INTEGER NOT NULL,
    uses INTEGER NOT NULL,
    length INTEGER NOT NULL,
    PRIMARY KEY (owner, collection, term, number)
) WITHOUT ROWID;
CREATE INDEX terms_of_passages ON document_terms (owner, number);
