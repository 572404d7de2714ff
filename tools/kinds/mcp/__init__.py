"""The tools of MCP servers.

`definitions` (what a server says of its tools), `lock` (mcp.lock.json), `plan` (how a server is
reached), `tool` (a definition -> a tool), `servers` (one supervisor for each server), `loop` (their
event loop), `client` (one connection, by the official SDK), `stdio` and `transport` (how bytes
travel), `results` (to text), `forms` (what it asks its user).

https://modelcontextprotocol.io/specification/2026-07-28
"""
