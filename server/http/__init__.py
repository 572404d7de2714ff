"""The HTTP side.

`api` (each operation once: what it takes, answers and needs), `operations` (the routes that follow
from it), `app` (middleware, start and stop), `services` (what endpoints share), `endpoints`,
`requests`, `idempotency`, `parameters`, `bodies` and `strict_json` (what clients send),
`responses`, `errors` (problem documents), `overload` (no new runs while there is too much to do),
`access` (of every answer: its id, its headers, its line in the log), `guard` (who may call),
`authenticator` (tokens that are shown), `auditor` (who did what), `pace` (how often, and how many
streams), `session` (the console's way in), `tickets`, `rights` (what a caller may do), `hooks`
(what other programs' POSTs ask), `sse`, `openapi` (all of it, described).
"""
