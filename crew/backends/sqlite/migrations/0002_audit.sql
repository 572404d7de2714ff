CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    at TEXT NOT NULL,
    action TEXT NOT NULL,
    name TEXT NOT NULL,
    address TEXT NOT NULL,
    run_id TEXT,
    request_id TEXT NOT NULL,
    detail TEXT NOT NULL
);
CREATE INDEX audit_of_runs ON audit (run_id, number) WHERE run_id IS NOT NULL;
CREATE INDEX audit_by_time ON audit (at);
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT RAISE(ABORT, 'the audit is only added to');
END;
