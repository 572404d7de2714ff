"""Where runs and their events are kept.

The `contract`; its stores `memory`, `sqlite` (on a `sqlite_file`, with `locks`) and `postgres` (on
a `postgres_server`);
`watch`, by which a process hears of another; and `conformance`, what any store can be put to.
"""
