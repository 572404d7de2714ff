-- what lists look for, of runs that have ended: a tenth of their rows, so that a list that finds
-- nothing among a million is read in a moment
CREATE TABLE ended_facts (
    run_id TEXT PRIMARY KEY,
    status TEXT NOT NULL,
    owner TEXT NOT NULL,
    user_id TEXT NOT NULL,
    agent_id TEXT,
    source TEXT,
    source_name TEXT,
    conversation_id TEXT,
    reason TEXT,
    -- JSON
    tools TEXT,
    started_at TEXT,
    cost_usd REAL,
    tokens INTEGER,
    unpriced INTEGER,
    duration_seconds REAL
) WITHOUT ROWID;
CREATE VIEW facts AS SELECT run_id, status, owner, user_id, row ->> 'agent_id' AS agent_id,
    row ->> 'source' AS source, row ->> 'source_name' AS source_name,
    row ->> 'conversation_id' AS conversation_id, row ->> 'reason' AS reason,
    row ->> 'tools' AS tools, row ->> 'started_at' AS started_at,
    row ->> '$.usage.cost_usd' AS cost_usd,
    (row ->> '$.usage.prompt_tokens') + (row ->> '$.usage.completion_tokens') AS tokens,
    coalesce(row ->> '$.usage.unpriced', 0) AS unpriced,
    row ->> 'duration_seconds' AS duration_seconds, ended_at
FROM runs;
INSERT INTO ended_facts SELECT run_id, status, owner, user_id, agent_id, source, source_name,
    conversation_id, reason, tools, started_at, cost_usd, tokens, unpriced, duration_seconds
FROM facts WHERE ended_at IS NOT NULL ORDER BY run_id;
-- lists look here
CREATE VIEW listed AS SELECT * FROM ended_facts UNION ALL
SELECT run_id, status, owner, user_id, agent_id, source, source_name, conversation_id, reason, tools,
    started_at, cost_usd, tokens, unpriced, duration_seconds
FROM facts WHERE ended_at IS NULL AND status IN ('running', 'paused') AND status <> 'completed';
CREATE TRIGGER run_is_stored AFTER INSERT ON runs WHEN NEW.ended_at IS NOT NULL BEGIN
    INSERT OR REPLACE INTO ended_facts SELECT run_id, status, owner, user_id, agent_id, source,
        source_name, conversation_id, reason, tools, started_at, cost_usd, tokens, unpriced,
        duration_seconds
    FROM facts WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER run_ends AFTER UPDATE OF row ON runs WHEN NEW.ended_at IS NOT NULL BEGIN
    INSERT OR REPLACE INTO ended_facts SELECT run_id, status, owner, user_id, agent_id, source,
        source_name, conversation_id, reason, tools, started_at, cost_usd, tokens, unpriced,
        duration_seconds
    FROM facts WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER run_goes_on AFTER UPDATE OF row ON runs
WHEN NEW.ended_at IS NULL AND OLD.ended_at IS NOT NULL BEGIN
    DELETE FROM ended_facts WHERE run_id = NEW.run_id;
END;
CREATE TRIGGER run_is_deleted AFTER DELETE ON runs BEGIN
    DELETE FROM ended_facts WHERE run_id = OLD.run_id;
END;
