"""What a run says, how it is written down, and the state that follows from it.

Modules, in reading order: `query` (what is asked and answered), `call_text` (a
call as a person reads it), `questions` (what a pause asks
about calls), `events` (all that can happen), `watch` (notices of other processes), `rows`,
`listing` (which runs are wanted), `audit`, `grants` (approvals that outlive their run), `notices`
(what others are told), `schedules` (how far each has come), `said` (where
runs paused, and what a quote proves), `conversations` (threads of runs),
`exchanges` (what a run changes in one) and `store` (what every store promises), `envelopes` and
`wire` (events as clients get them), `outlets` (where they go), `writer` (number, store, publish),
`decided` (what an answer decides), `branches` and `state` (folded from events), `replay` (a stored
run's state), `errors`.
"""
