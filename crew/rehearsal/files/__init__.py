"""From the files of a crew's rehearsals to cases that can be played.

`nodes` (values with their places, merged), `find` (the files), `cases` (defaults, includes and
cases, as one mapping each), `recorded` (of a cassette), `bound` (a mapping as a rehearsal),
`checks` (against the crew), `paths` (whether the graph has the steps of a path), `arguments` (of
expected calls).
"""
