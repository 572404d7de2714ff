"""Runs in one SQLite file: `store`, on a `file`, with `locks`; `schema` and migrations/ make it.

`checkpoints`: the log of writes; `writing`: a write in a transaction; `conversations` and `chores`:
threads of runs; `audit`: who did what; `grants`: approvals that outlive their run; `outbox`: what
others are to be told; `schedules`: how far each has come; `purging`: what is old; `backup`: a
copy; `examination`: findings for the operator of the file.
"""
