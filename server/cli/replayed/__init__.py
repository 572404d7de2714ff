"""`crew replay`, `crew record`, `crew diff`: stored runs, and what differs between files.

`versions` (a folder, a git reference or a revision, as files), `chosen` (which runs), `replaying`
(the command replay), `record`, `differing` (the command diff), `text` (both for people).
"""
