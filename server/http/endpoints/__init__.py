"""Short functions, one for each endpoint.

`runs` (start to end), `lists` (of runs, and of those that wait for a person), `conversations`,
`crew`, `description` (what it shows), `health`, `tickets`, `grants`, `hooks` (alerts that start
runs), `openapi` (the document).
"""
