"""A crew's files are changed one thing at a time: which rehearsal notices?

`changes` (each thing that may be changed), `reach` (whether a change can make a difference at all),
`trial` (a change is made, and the rehearsals are played).
"""
