"""A2A 1.0, the protocol between agents: each run is a task (`/a2a`, `/a2a/rest`).

`card` (what others read first), `problems` (errors), `parts` (messages), `fold` (events as updates
of a task), `stored` (a task by its stored events), `listing` (lists of tasks), `methods` (what can
be done), `rpc` and `rest` (the two bindings), `door` (the routes).
"""
