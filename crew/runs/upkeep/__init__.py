"""What a process does beside its runs.

`maintenance` (work that is due by time), `storage` (how large a store may become), `kept` (what is
kept all the same), `room` (for one more run), `schedules`, `by_hand` (started and paused by
people), `due` (when they are next), `stalls` (what blocks the process), `reload` (the files, read
again), `gate` (what they must pass).
"""
