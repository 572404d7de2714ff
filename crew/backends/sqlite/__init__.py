"""Runs in one SQLite file: `store`, on a `file`, with `locks`; migrations/ has its schema.

`audit`: who did what; `grants`: approvals that outlive their run; `examination`: what somebody who
looks after the file should know.
"""
