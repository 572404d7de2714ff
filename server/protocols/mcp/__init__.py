"""The crew as an MCP server, over HTTP (`/mcp`) and in a terminal (`crew mcp`); extra `mcp`.

`offered` (its tools), `results` (what a call comes to), `forms` (pauses as forms for a person),
`calling` (a call, from its arguments to its result), `serving` (the server of the SDK), `access`
(of a request), `local` (for a program on this machine), `door`.
"""
