"""`crew test`: the rehearsals of a crew.

`command` (the command), `chosen` (which are played), `measured` (they are, by a real model),
`updating` (files are written anew), `suggested` (for what none checks), `played` (they are, and
what is printed of them), `text` (for people), `documents` (JSON, JUnit, annotations of GitHub),
`expressions` (of `-k`), `mutants` (the files are changed), `pinned` (what models are sent),
`watching` (again after each change).
"""
