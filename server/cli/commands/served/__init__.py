"""Commands that are the same for a server and for a folder.

`history` (show, search, compare, export, delete), `revisions` (revisions, rollback, reload),
`profiles` (profile, answer, open).
"""
