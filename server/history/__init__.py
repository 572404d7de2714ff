"""Stored runs, as people look at them later.

`searching` (where words were said), `comparing` (two runs side by side), `steps` (a run as a list
of steps, which both use), `exporting` (a run as one document), `pages` (that document as Markdown
and HTML), `usage` (of tools, lately).
"""
