"""The HTTP side.

`app` (routes, middleware, start and stop), `services` (what endpoints share), `endpoints`,
`requests` and `bodies` (what clients send), `responses`, `errors` (problem documents), `access`
(who may call), `sse`.
"""
