"""Plans of a run.

`tasks` (what is planned), `plans` (how far it is), `events`, `envelopes` (its events as clients get
them), `parts` (whatever part of a run an event belongs to).
"""
