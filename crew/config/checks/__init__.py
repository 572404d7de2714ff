"""What must hold between the files of a crew.

Modules, in reading order: `validate` (all checks together), `references` (names that nothing has),
`agents` (tools, providers), `prompts`, `signals` (and groups), `script`, `routing` (the graph),
`no_effect` (what is configured and never used).
"""
