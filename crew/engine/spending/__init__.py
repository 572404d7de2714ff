"""What a run spends.

`paying` (what its requests have cost), `bounds` (what a call needs, what a person is shown),
`next_calls` (what the next one takes at least), `warnings` (and notices to channels), `raising`
(more room, by a person), `budgets` (what bounds them).
"""
