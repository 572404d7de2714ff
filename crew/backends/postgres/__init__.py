"""Runs in a PostgreSQL database, shared by any number of processes, and their queue.

`store` (the RunStore) with its `statements`, `writing`, `reading`, `conversations` and `chores`
(threads of runs), `audit` (who did what), `grants` (approvals that outlive their run), `outbox`
(what others are to be told) and `schedules` (how far each has come), on a `server` (connections to
an `address`) with `notices` (NOTIFY and LISTEN) and `shared_time` (of the database); `schema`
(brought up to date, from migrations/); `texts` (as the database takes them); `queue`
(Procrastinate, over `connector`, with its `queue_statements`) and `worker` with its `heartbeat`
and its `heartbeat_sender`; `examination` (what of a server's settings may lose or refuse runs).
"""
