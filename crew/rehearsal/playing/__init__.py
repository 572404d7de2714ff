"""A rehearsal is played.

`loaded` (the crew's files, checked once for each environment), `tape` (what has happened), `kept`
(what is there at its end), `judges` (models that judge its answer), `player` (one rehearsal, from
its query to its end), `process` (the runs of a crew until they are killed), `stage` (one process
after the other), `wall` (a limit of this machine's time), `suite` (all rehearsals, in processes),
`updates` (what a rehearsal could expect instead).
"""
