"""The shape of a file of rehearsals.

`file` (its keys at the top), `case` (a rehearsal), `models` (what models say), `results` (what
tools return), `persons` (what people answer), `faults` (what goes wrong), `expected` (what must
hold), `texts` (what a text must be), `durations` (lengths of time).
"""
