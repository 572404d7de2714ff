-- Vectors of texts, by which they are found beside their words; a text has one, of one model.
-- They are arrays, which the extension `vector` compares: the schema does not need it.
CREATE TABLE crew_recall_vectors (
    owner text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    -- provider, model and the dimensions that were requested
    space text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    vector real[] NOT NULL,
    PRIMARY KEY (owner, number)
);
CREATE TABLE crew_document_vectors (
    owner text COLLATE "C" NOT NULL,
    number bigint NOT NULL,
    space text COLLATE "C" NOT NULL,
    dimensions integer NOT NULL,
    vector real[] NOT NULL,
    PRIMARY KEY (owner, number)
);
