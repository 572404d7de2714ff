"""What people already have, as a crew: `crew init DIR --from FILE`.

Modules, in reading order: `foreign` (a file, and what becomes of each of its parts), `texts`
(prompts, variables and names of others), `models` (which provider and model is meant), `servers`
(MCP servers), `draft` (the crew that is written), `rehearsing` (its rehearsals), `desktop`
(mcpServers of desktop clients and editors), `crewai`, `cagent`, `conductor`, `detect` (which of
them a file is). Made from the public documentation of these formats.
"""
