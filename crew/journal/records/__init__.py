"""What a store keeps, as values.

`rows` (of runs), `listing` (which runs are wanted), `cluster` (what processes know of each other),
`audit`, `grants` (approvals that outlive their run), `notices` (messages to channels), `schedules`
(how far each has come), `revisions` (files of crews), `conversations` (threads of runs),
`exchanges` (what a run changes in one), `remembered` (memory, documents, people), `spent` (what
models cost), `viewers` (who looks at a run that waits).
"""
