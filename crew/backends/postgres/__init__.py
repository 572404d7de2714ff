"""Runs in a PostgreSQL database, shared by any number of processes, and their queue.

`store` (the RunStore) with its `statements`, `writing`, `reading`, and the roles of
`crew.backends.sql` on its `database` (`budgets` reserves in one trip), on a `server` (connections
to an `address`, which is `shown` without secrets) with `notices` (NOTIFY and LISTEN) and
`shared_time` (of the database); `schema` (brought up to date, from migrations/); `jobs` (the queue
and its workers); `examination` (what of the settings of a server may lose or refuse runs).
"""
