-- what models were called for, one a request; kept for a while
CREATE TABLE crew_calls (
    id text PRIMARY KEY,
    at text NOT NULL,
    day text NOT NULL,
    run_id text NOT NULL,
    seq bigint NOT NULL,
    attempt int NOT NULL,
    agent_id text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    user_id text NOT NULL,
    owner text NOT NULL,
    conversation_id text NOT NULL,
    outcome text NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    thinking bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    -- null: there is no known price
    nanos bigint,
    price text NOT NULL,
    estimated int NOT NULL,
    lost int NOT NULL
);
CREATE INDEX crew_calls_by_time ON crew_calls (at);
CREATE INDEX crew_calls_of_runs ON crew_calls (run_id);
CREATE INDEX crew_calls_of_users ON crew_calls (user_id) WHERE user_id <> '';
-- sums of them by day, kept longer
CREATE TABLE crew_spent (
    day text NOT NULL,
    agent_id text NOT NULL,
    provider text NOT NULL,
    model text NOT NULL,
    user_id text NOT NULL,
    owner text NOT NULL,
    -- so that writers at the same time do not wait for each other
    shard int NOT NULL,
    calls bigint NOT NULL,
    input bigint NOT NULL,
    output bigint NOT NULL,
    thinking bigint NOT NULL,
    cache_read bigint NOT NULL,
    cache_write bigint NOT NULL,
    nanos bigint NOT NULL,
    unpriced bigint NOT NULL,
    estimated bigint NOT NULL,
    PRIMARY KEY (day, agent_id, provider, model, user_id, owner, shard)
);
CREATE INDEX crew_spent_of_users ON crew_spent (user_id) WHERE user_id <> '';
-- what is used of a budget by one of its values in one of its periods, and what is reserved
CREATE TABLE crew_pots (
    budget text NOT NULL,
    value text NOT NULL,
    period text NOT NULL,
    resets_at text NOT NULL,
    nanos bigint NOT NULL DEFAULT 0,
    tokens bigint NOT NULL DEFAULT 0,
    calls bigint NOT NULL DEFAULT 0,
    held_nanos bigint NOT NULL DEFAULT 0,
    held_tokens bigint NOT NULL DEFAULT 0,
    held_calls bigint NOT NULL DEFAULT 0,
    -- what people have added to its limit
    more_nanos bigint NOT NULL DEFAULT 0,
    more_tokens bigint NOT NULL DEFAULT 0,
    -- the highest part of the limit that was warned of, in thousandths
    warned int NOT NULL DEFAULT 0,
    PRIMARY KEY (budget, value, period)
);
CREATE TABLE crew_reservations (
    id text NOT NULL,
    budget text NOT NULL,
    value text NOT NULL,
    period text NOT NULL,
    run_id text NOT NULL,
    nanos bigint NOT NULL,
    tokens bigint NOT NULL,
    until text NOT NULL,
    -- the row of the call, if it is lost
    call text NOT NULL,
    PRIMARY KEY (id, budget, value, period)
);
CREATE INDEX crew_reservations_of_runs ON crew_reservations (run_id);
CREATE INDEX crew_reservations_by_time ON crew_reservations (until);
CREATE FUNCTION crew_add_calls() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO crew_spent AS known
    SELECT day, agent_id, provider, model, user_id, owner, pg_backend_pid() % 16, count(*),
        sum(input), sum(output), sum(thinking), sum(cache_read), sum(cache_write),
        coalesce(sum(nanos), 0), count(*) FILTER (WHERE nanos IS NULL), sum(estimated)
    FROM made GROUP BY day, agent_id, provider, model, user_id, owner
    ORDER BY day, agent_id, provider, model, user_id, owner
    ON CONFLICT (day, agent_id, provider, model, user_id, owner, shard) DO UPDATE SET
        calls = known.calls + excluded.calls, input = known.input + excluded.input,
        output = known.output + excluded.output, thinking = known.thinking + excluded.thinking,
        cache_read = known.cache_read + excluded.cache_read,
        cache_write = known.cache_write + excluded.cache_write,
        nanos = known.nanos + excluded.nanos, unpriced = known.unpriced + excluded.unpriced,
        estimated = known.estimated + excluded.estimated;
    IF EXISTS (SELECT FROM crew_reservations JOIN made USING (id)) THEN
        PERFORM FROM crew_pots AS pot WHERE EXISTS (
            SELECT FROM crew_reservations AS one JOIN made USING (id)
            WHERE one.budget = pot.budget AND one.value = pot.value AND one.period = pot.period
        ) ORDER BY budget, value, period FOR UPDATE;
        UPDATE crew_pots AS pot SET nanos = pot.nanos + used.nanos,
            tokens = pot.tokens + used.tokens, calls = pot.calls + used.calls,
            held_nanos = pot.held_nanos - used.held_nanos,
            held_tokens = pot.held_tokens - used.held_tokens,
            held_calls = pot.held_calls - used.calls
        FROM (
            SELECT one.budget, one.value, one.period, coalesce(sum(made.nanos), 0) AS nanos,
                sum(input + output) AS tokens, count(*) AS calls, sum(one.nanos) AS held_nanos,
                sum(one.tokens) AS held_tokens
            FROM crew_reservations AS one JOIN made USING (id)
            GROUP BY one.budget, one.value, one.period
        ) AS used
        WHERE used.budget = pot.budget AND used.value = pot.value AND used.period = pot.period;
        DELETE FROM crew_reservations USING made WHERE crew_reservations.id = made.id;
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER crew_calls_added AFTER INSERT ON crew_calls REFERENCING NEW TABLE AS made
    FOR EACH STATEMENT EXECUTE FUNCTION crew_add_calls();
