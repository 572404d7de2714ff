"""A crew's files, changed through the server.

`drafts` (files that are not written yet, and which of them may be), `reach` (what a change lets the
server do that it could not do before), `editor` (checks, writes, and goes back to a revision),
`errors`.
"""
