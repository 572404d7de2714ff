"""A run's events in a terminal.

`output` (who prints them, and how), `run_view` (as text), `lines` (of plans and questions), `live`
(who is at work), `listed` (runs in a list), `amounts` (of tokens and money),
`differences` (of two versions).
"""
