"""The YAML of a crew: read, checked, explained, fixed.

Modules, in reading order: `sources` (the files), `yaml_reader` and `document` (data with places),
`spacing` (spaces that are missing), `data_files` (OpenAPI documents, mcp.lock.json), `environment`
(`${NAME}`), `crew_file` and `hooks`, `notify`, `schedules`, `conversations`, `models` (the shape of
crew.yaml), `shapes` (what shapes say), `binding` (data to shapes), `loader` (all files), `checks`
(between the files), `routing_plan` (to the routing), `problems` and `report` (mistakes, and how
they are written), `explanations` (of every code), `redaction`, `suppressions`, `fixes`, `errors`.
"""
