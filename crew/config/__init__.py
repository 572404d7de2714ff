"""The YAML of a crew: read, checked, explained, fixed.

Modules, in reading order: `files` (read, with places), `keys` (the shape of crew.yaml), `shapes`
(what shapes say), `binding` (data to shapes), `outputs` (typed answers and what rules say of them),
`memory` (its blocks and items), `costs` (what models cost), `crew_files` (what all files say),
`loader` (that reads them), `untrusted` (whether runs note text of others), `checks` (between the
files), `routing_plan` (to the routing), `problems` and `report` (mistakes, and how they are
written), `explanations` (of every code), `suppressions`, `fixes`, `errors`.
"""
