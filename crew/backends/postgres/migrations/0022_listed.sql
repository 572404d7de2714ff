-- what lists look for, of runs that have ended: a tenth of their rows, so that a list that finds
-- nothing among a million is read in a moment
CREATE TABLE crew_ended_facts (
    run_id text COLLATE "C" PRIMARY KEY,
    status text NOT NULL,
    owner text NOT NULL,
    user_id text NOT NULL,
    agent_id text,
    source text,
    source_name text,
    conversation_id text,
    reason text,
    -- JSON
    tools text,
    started_at text COLLATE "C",
    cost_usd float8,
    tokens bigint,
    unpriced bigint,
    duration_seconds float8
);
CREATE VIEW crew_facts AS SELECT run_id, status, owner, user_id,
    row::json ->> 'agent_id' AS agent_id, row::json ->> 'source' AS source,
    row::json ->> 'source_name' AS source_name,
    row::json ->> 'conversation_id' AS conversation_id, row::json ->> 'reason' AS reason,
    row::json ->> 'tools' AS tools, (row::json ->> 'started_at') COLLATE "C" AS started_at,
    (row::json -> 'usage' ->> 'cost_usd')::float8 AS cost_usd,
    (row::json -> 'usage' ->> 'prompt_tokens')::bigint
        + (row::json -> 'usage' ->> 'completion_tokens')::bigint AS tokens,
    coalesce((row::json -> 'usage' ->> 'unpriced')::bigint, 0) AS unpriced,
    (row::json ->> 'duration_seconds')::float8 AS duration_seconds, ended_at
FROM crew_runs;
INSERT INTO crew_ended_facts SELECT run_id, status, owner, user_id, agent_id, source, source_name,
    conversation_id, reason, tools, started_at, cost_usd, tokens, unpriced, duration_seconds
FROM crew_facts WHERE ended_at IS NOT NULL ORDER BY run_id;
-- lists look here
CREATE VIEW crew_listed AS SELECT * FROM crew_ended_facts UNION ALL
SELECT run_id, status, owner, user_id, agent_id, source, source_name, conversation_id, reason, tools,
    started_at, cost_usd, tokens, unpriced, duration_seconds
FROM crew_facts WHERE ended_at IS NULL AND status IN ('running', 'paused');
CREATE FUNCTION crew_keep_facts() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        DELETE FROM crew_ended_facts WHERE run_id = OLD.run_id;
    END IF;
    IF TG_OP <> 'DELETE' AND NEW.ended_at IS NOT NULL THEN
        INSERT INTO crew_ended_facts SELECT run_id, status, owner, user_id, agent_id, source,
            source_name, conversation_id, reason, tools, started_at, cost_usd, tokens, unpriced,
            duration_seconds
        FROM crew_facts WHERE run_id = NEW.run_id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER crew_run_is_stored AFTER INSERT ON crew_runs FOR EACH ROW
    WHEN (NEW.ended_at IS NOT NULL) EXECUTE FUNCTION crew_keep_facts();
CREATE TRIGGER crew_run_ends AFTER UPDATE OF row ON crew_runs FOR EACH ROW
    WHEN (NEW.ended_at IS NOT NULL OR OLD.ended_at IS NOT NULL) EXECUTE FUNCTION crew_keep_facts();
CREATE TRIGGER crew_run_is_deleted AFTER DELETE ON crew_runs FOR EACH ROW
    EXECUTE FUNCTION crew_keep_facts();
