"""A language server for the files of crews: what `validate` and `explain` know, in editors.

`folders` (a crew with unsaved texts), `places` (what stands at a place, also in unfinished YAML),
`shapes` (keys and values, from the JSON schemas), `names` (agents, signals, tools and so on, and
where they are used), `features` (what an editor asks), `renaming`, `service` (the protocol).
"""
