"""Runs in one SQLite file: `store`, on a `file`, with `locks`; migrations/ has its schema.

`audit`: who did what; `examination`: what somebody who looks after the file should know.
"""
