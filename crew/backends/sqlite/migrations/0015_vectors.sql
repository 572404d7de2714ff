-- Vectors of texts, by which they are found beside their words; a text has one, of one model.
CREATE TABLE recall_vectors (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    -- provider, model and the dimensions that were requested
    space TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    -- numbers of 4 bytes, little-endian
    vector BLOB NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;
CREATE TABLE document_vectors (
    owner TEXT NOT NULL,
    number INTEGER NOT NULL,
    space TEXT NOT NULL,
    dimensions INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (owner, number)
) WITHOUT ROWID;
