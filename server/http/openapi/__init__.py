"""The API, described: OpenAPI 3.1, from the models of bodies, answers and events.

`document` (what is served at `/openapi.json`), `parameters` (of several addresses), `answers`,
`costs`, `conversations`, `memory`, `documents`, `events`, `rehearsed`, `edited`, `explored`,
`waiting`, `memory_events` and `call_events` (the shapes of what the server says).
"""
