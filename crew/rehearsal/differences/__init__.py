"""What differs between two versions of a crew's files, in the crew's own words.

`flat` (files as leaves with their places), `permissions` (what may be more than before), `words` (a
difference as people read it), `differences` (of two crews), `touched` (which rehearsals may meet
them).
"""
