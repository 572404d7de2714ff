"""Models around a model, each with one thing that it adds.

`retrying`, `breaking` (a breaker), `pacing` (limits of a provider), `fallback` (a backup), `places`
(how many calls of an agent at the same time), `priced` (what each request costs), `short` (how long
a call may be), `counting` (tokens), `health` (the last failure), `offline` (stands for a model that
is not called).
"""
