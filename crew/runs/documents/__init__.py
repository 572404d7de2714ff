"""Documents, as people and programs handle them, and the files of the crew's folder.

`library` (upload, list, read, search, delete), `folder` (files of the crew, kept in step),
`attaching` (what goes with a query or an answer).
"""
