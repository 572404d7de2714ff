"""The HTTP side.

`api` (each operation once: what it takes, answers and needs), `operations` (the routes that follow
from it), `app` (middleware, start and stop), `services` (what endpoints share), `endpoints`,
`requests`, `idempotency`, `parameters`, `bodies` and `reading` (what clients send),
`responses`, `errors` (problem documents), `overload` (no new runs while there is too much to do),
`door` (other protocols), `access` (of every answer: its id, its headers, its line in the log),
`callers` (who may do what), `pages` (what browsers load), `sse`, `openapi` (all of it, described).
"""
