"""`crew replay` and `crew diff`: stored runs on other files, and what differs between files.

`versions` (a folder, a git reference or a revision, as files), `chosen` (which runs), `replaying`
(the command replay), `differing` (the command diff), `text` (both for people).
"""
