"""AG-UI 1.0, the protocol of agents and user interfaces (`POST /agui`).

`fold` (events as AG-UI's), `forms` (the ones that need no state), `before` (what was said before),
`interrupts` (pauses, and the answers to them), `door` (requests, and streams).
"""
