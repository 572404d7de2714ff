"""What a run spends.

`paying` (what its requests have cost), `bounds` (what a call needs, what a person is shown),
`first_calls` (what the first one takes at least), `warnings` (and notices to channels), `raising`
(more room, by a person), `budgets` (what bounds them).
"""
