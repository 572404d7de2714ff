"""What the crew would do, by runs that are kept.

`replays` (of stored runs), `checked` (files before a reload), `kept` (runs as files), `why` (a run
went where it went).
"""
