"""What a run says, how it is written down, and the state that follows from it.

Modules, in reading order: `query` (what a person sends), `call_text` (a call as a person reads it),
`questions` (what a pause asks about calls), `planned` (plans, and their tasks), `remembered`
(changes of memory), `events` (all that can happen), `records` (what a store keeps), `said` (where
runs paused), `store` (what stores promise), `envelopes` and `wire`
(events as clients get them), `outlets` (where they go), `writer` (number, store, publish),
`decided` (what an answer decides), `branches` and `state` (folded from events), `replay` (a stored
run's state), `errors`.
"""
