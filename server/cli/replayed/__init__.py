"""`crew replay`, `crew record`, `crew fork`, `crew diff`: stored runs, and versions of files.

`versions` (a folder, a git reference or a revision, as files), `chosen` (which runs), `replaying`
(the command replay), `record`, `forking` (the command fork), `changed` (files with other values),
`differing` (the command diff), `text` (both for people).
"""
