"""Rehearsals for what none checks.

`cases` (one as it is written), `outputs` (a typed answer that leads where it is to lead), `words`
(what agents say along a path), `drafts` (what may take a unit), `suggester` (the first draft that
does).
"""
