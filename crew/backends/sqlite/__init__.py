"""Runs in one SQLite file: `store`, on a `file`, with `locks`; `schema` and migrations/ make it.

`checkpoints`: the log of writes; `writing`: a write in a transaction; `database`: what plays the
roles of `crew.backends.sql`; `purging`: what is old; `backup`: a copy; `restoring`: the way back;
`examination`: findings for the operator of the file.
"""
