"""Other protocols by which clients talk to a crew: each a fold of the events of its runs.

`doors` (the table of them), `folds` (what all folds have in common, and how they are served),
`speech` (what agents say to people, without signals), `pauses` (what a person is asked, and may
answer), `clients` (what clients say).
"""
