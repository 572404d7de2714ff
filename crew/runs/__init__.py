"""All runs of a crew: start, resume, follow, cancel, recover, purge.

Modules, in reading order: `runs` (the facade), `starter` (segments start), `resuming` (what a
paused run goes on with), `request` (who started it), `conversations` (threads of runs), `forks`
(copies that go on by themselves), `claims` (runs that are not played), `declined` (those that this
process cannot play), `cancellation`, `factory` (what these share), `run` (one segment), `capacity`
(how many at the same time, and in which order), `streams` (what runs publish), `revisions` (the
crew of each run), `queue` (the contract), `advance` (what a worker does), `memory` and `documents`
(as people handle them), `chores` (work after runs), `costs` (what was spent), `upkeep` (work beside
runs), `errors`.
"""
