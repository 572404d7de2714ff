-- What a call reserves, in all its pots or in none where one has no room: one statement, so that
-- it takes one trip to the server. The rule is that of Share.fits; a test compares them.
CREATE FUNCTION crew_reserve(
    of_call text, of_run text, ends text, lost text, wanted text,
    OUT is_done boolean, OUT pots jsonb
) LANGUAGE plpgsql AS $$
DECLARE
    shares jsonb := wanted;
BEGIN
    INSERT INTO crew_pots (budget, value, period, resets_at)
    SELECT budget, value, period, resets_at FROM jsonb_to_recordset(shares)
        AS share (budget text, value text, period text, resets_at text)
    ORDER BY budget, value, period ON CONFLICT DO NOTHING;
    -- one after the other, in the order of their keys: others wait, and none for each other
    PERFORM FROM crew_pots AS pot JOIN jsonb_to_recordset(shares)
        AS share (budget text, value text, period text) USING (budget, value, period)
    ORDER BY budget, value, period FOR UPDATE OF pot;
    SELECT
        bool_and(
            coalesce(pot.nanos + pot.held_nanos + least_nanos <= max_nanos + more_nanos, true)
            AND coalesce(pot.tokens + held_tokens + least_tokens <= max_tokens + more_tokens, true)
            AND coalesce(pot.calls + held_calls + 1 <= max_calls, true)
        ),
        jsonb_agg(jsonb_build_array(
            budget, value, period, pot.resets_at, pot.nanos, pot.tokens, pot.calls,
            held_nanos, held_tokens, held_calls, more_nanos, more_tokens
        ) ORDER BY number)
    INTO is_done, pots
    FROM crew_pots AS pot JOIN jsonb_to_recordset(shares) AS share (
        number int, budget text, value text, period text, least_nanos bigint, least_tokens bigint,
        max_nanos bigint, max_tokens bigint, max_calls bigint
    ) USING (budget, value, period);
    IF is_done THEN
        UPDATE crew_pots AS pot SET held_nanos = held_nanos + share.nanos,
            held_tokens = held_tokens + share.tokens, held_calls = held_calls + 1
        FROM jsonb_to_recordset(shares)
            AS share (budget text, value text, period text, nanos bigint, tokens bigint)
        WHERE pot.budget = share.budget AND pot.value = share.value AND pot.period = share.period;
        INSERT INTO crew_reservations
            (id, budget, value, period, run_id, nanos, tokens, until, call)
        SELECT of_call, budget, value, period, of_run, nanos, tokens, ends, lost
        FROM jsonb_to_recordset(shares)
            AS share (budget text, value text, period text, nanos bigint, tokens bigint)
        ON CONFLICT DO NOTHING;
    END IF;
END $$;
