"""Why a run went where it went: recomputed from its events and the files of its revision.

Modules, in reading order: `steps` (what is said of an event), `near` (signals that nearly were
there), `rulings` (each rule of a decision, in order), `places` (lines of settings, tools and
budgets), `asking` (why a person decides on a call, and what was decided), `explaining` (the events
of a run, one after the other), `missed` (ways that were not taken), `reading` (from a store).
"""
