"""All runs of a crew: start, resume, follow, cancel, recover, purge.

Modules, in reading order: `runs` (the facade), `starter` (segments start), `resuming` (what a
paused run goes on with), `request` (who started it),
`exchanges` (runs of conversations), `conversations` (begun, named, deleted), `chores` (what helpers
do after runs), `room` (for one more), `forks` (copies that go on by themselves), `claims` (runs
that are not played), `declined` (those that this process cannot play), `cancellation`, `factory`
(what these share), `run` (one segment), `tail` (its newest events), `capacity` (how many at the
same time, and in which order), `live` (the registry), `remote` (runs of other processes), `reader`
(what runs publish), `revisions` (the crew of each run), `queue` (the contract), `advance` (what a
worker does), `listeners` (who listens), `storage` (how large a store may become), `maintenance`
(what time asks for), `schedules`, `stalls` (what holds up the process), `reload`, `errors`.
"""
