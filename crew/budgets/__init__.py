"""What bounds the costs of a crew.

Modules, in reading order: `rules` (a budget, and the pots of a call in it), `periods` (hours, days,
weeks, months), `estimates` (what a call may cost), `room` (whether a call fits, and by how much),
`lines` (calls that wait for room); all but the last are pure.
"""
