"""What agents are shown beside a run's own messages.

`contexts` (each agent's, from all sources), `sources` (what a source is, and its time), `core` and
`recall` (memory), `documents`, `attached` (what the person has sent), `conversation` (the exchanges
and their summary), `outputs` (typed answers of other agents).
"""
