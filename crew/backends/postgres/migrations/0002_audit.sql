CREATE TABLE crew_audit (
    number bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at text COLLATE "C" NOT NULL,
    action text NOT NULL,
    name text NOT NULL,
    address text NOT NULL,
    run_id text COLLATE "C",
    request_id text NOT NULL,
    detail text NOT NULL
);
CREATE INDEX crew_audit_of_runs ON crew_audit (run_id, number) WHERE run_id IS NOT NULL;
CREATE INDEX crew_audit_by_time ON crew_audit (at);
CREATE FUNCTION crew_refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is only added to';
END
$$;
CREATE TRIGGER crew_audit_is_not_changed BEFORE UPDATE ON crew_audit
    FOR EACH ROW EXECUTE FUNCTION crew_refuse_change();
