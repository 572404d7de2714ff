"""Stored runs are played again on other files: what would the crew do now?

`failures` (requests without an answer), `recording` (a stored run, with all that the world has said
in it), `before` (what was there when it began), `recalled` (what was found in memory), `options`
(how they are played), `doubles` (it says the same again), `replayer` (plays a recording), `trail`
(a run as steps that can be compared), `comparison` (two trails, and the verdict), `wording` (what
models are sent, as differences), `replays` (of many runs), `report` (grouped by cause).
"""
