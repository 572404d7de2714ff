"""What of a crew its rehearsals check.

`units` (what can be covered, from the same rules as the graph), `taken` (what a run has taken, and
whether that was checked), `counts` (of all rehearsals).
"""
