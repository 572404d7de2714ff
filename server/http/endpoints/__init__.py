"""Short functions, one for each endpoint.

`runs` (start to end), `starting` (what a request asks for), `lists` (of runs), `waiting` (those
that wait for a person), `conversations`, `memory` (what is remembered of a person), `documents`,
`people` (all of it: exported, erased), `remembered` (the operations of these three), `rehearsed`
(runs played again, and kept as files; files checked before a reload), `crew`, `description` (what
it shows), `health`, `tickets`, `grants`, `hooks` (alerts that start runs), `spent` (costs),
`edited` (the crew's files, and revisions), `explored` (search, comparison, export, deletion,
audit), `openapi` (the document).
"""
