"""What a new crew begins with.

`starter` (files of a new crew), `starter_from` (of what there is), `interview` (of answers),
`runbook`, `api_file` (an OpenAPI document that is given),
`lock` (mcp.lock.json).
"""
