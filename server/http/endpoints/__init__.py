"""Short functions, one for each endpoint.

`runs` (start to end), `lists` (of runs, and of those that wait for a person), `conversations`,
`memory` (what is remembered of a person), `remembered` (the operations of these two), `crew`,
`description` (what it shows), `health`, `tickets`, `grants`, `hooks` (alerts that start runs),
`openapi` (the document).
"""
