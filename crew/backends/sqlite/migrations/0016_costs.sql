-- what models were called for, one a request; kept for a while
CREATE TABLE calls (
    id TEXT PRIMARY KEY NOT NULL,
    at TEXT NOT NULL,
    day TEXT NOT NULL,
    run_id TEXT NOT NULL,
    seq INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    agent_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    user_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    conversation_id TEXT NOT NULL,
    outcome TEXT NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    thinking INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    -- null: there is no known price
    nanos INTEGER,
    price TEXT NOT NULL,
    estimated INTEGER NOT NULL,
    lost INTEGER NOT NULL
);
CREATE INDEX calls_by_time ON calls (at);
CREATE INDEX calls_of_runs ON calls (run_id);
CREATE INDEX calls_of_users ON calls (user_id) WHERE user_id <> '';
-- sums of them by day, kept longer
CREATE TABLE spent (
    day TEXT NOT NULL,
    agent_id TEXT NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    user_id TEXT NOT NULL,
    owner TEXT NOT NULL,
    -- always 0: one process writes
    shard INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    input INTEGER NOT NULL,
    output INTEGER NOT NULL,
    thinking INTEGER NOT NULL,
    cache_read INTEGER NOT NULL,
    cache_write INTEGER NOT NULL,
    nanos INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    PRIMARY KEY (day, agent_id, provider, model, user_id, owner, shard)
) WITHOUT ROWID;
CREATE INDEX spent_of_users ON spent (user_id) WHERE user_id <> '';
-- what is used of a budget by one of its values in one of its periods, and what is reserved
CREATE TABLE pots (
    budget TEXT NOT NULL,
    value TEXT NOT NULL,
    period TEXT NOT NULL,
    resets_at TEXT NOT NULL,
    nanos INTEGER NOT NULL DEFAULT 0,
    tokens INTEGER NOT NULL DEFAULT 0,
    calls INTEGER NOT NULL DEFAULT 0,
    held_nanos INTEGER NOT NULL DEFAULT 0,
    held_tokens INTEGER NOT NULL DEFAULT 0,
    held_calls INTEGER NOT NULL DEFAULT 0,
    -- what people have added to its limit
    more_nanos INTEGER NOT NULL DEFAULT 0,
    more_tokens INTEGER NOT NULL DEFAULT 0,
    -- the highest part of the limit that was warned of, in thousandths
    warned INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (budget, value, period)
) WITHOUT ROWID;
CREATE TABLE reservations (
    id TEXT NOT NULL,
    budget TEXT NOT NULL,
    value TEXT NOT NULL,
    period TEXT NOT NULL,
    run_id TEXT NOT NULL,
    nanos INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    until TEXT NOT NULL,
    -- the row of the call, if it is lost
    call TEXT NOT NULL,
    PRIMARY KEY (id, budget, value, period)
) WITHOUT ROWID;
CREATE INDEX reservations_of_runs ON reservations (run_id);
CREATE INDEX reservations_by_time ON reservations (until);
CREATE TRIGGER calls_added AFTER INSERT ON calls BEGIN
    INSERT INTO spent VALUES (
        new.day, new.agent_id, new.provider, new.model, new.user_id, new.owner, 0, 1, new.input,
        new.output, new.thinking, new.cache_read, new.cache_write, coalesce(new.nanos, 0),
        new.nanos IS NULL, new.estimated
    ) ON CONFLICT (day, agent_id, provider, model, user_id, owner, shard) DO UPDATE SET
        calls = calls + 1, input = input + excluded.input, output = output + excluded.output,
        thinking = thinking + excluded.thinking, cache_read = cache_read + excluded.cache_read,
        cache_write = cache_write + excluded.cache_write, nanos = nanos + excluded.nanos,
        unpriced = unpriced + excluded.unpriced, estimated = estimated + excluded.estimated;
    UPDATE pots SET nanos = pots.nanos + coalesce(new.nanos, 0),
        tokens = pots.tokens + new.input + new.output, calls = pots.calls + 1,
        held_nanos = held_nanos - one.nanos, held_tokens = held_tokens - one.tokens,
        held_calls = held_calls - 1
    FROM reservations AS one WHERE one.id = new.id AND one.budget = pots.budget
        AND one.value = pots.value AND one.period = pots.period;
    DELETE FROM reservations WHERE id = new.id;
END;
