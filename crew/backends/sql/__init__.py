"""The roles of a store that both databases share, each written once.

`statements` (one text for both databases, and what differs), `transactions` (steps that a database
plays), `conversations` and `chores` (threads of runs), `deletion` (of a conversation),
`remembered` (memory, documents, people), `spent` (calls of models, pots of budgets), `audit` (who
did what), `grants` (approvals that outlive their run), `outbox` (notices that are not sent yet),
`schedules` (how far each has come), `viewers` (who looks at a run that waits), `revisions` (files
of crews), `runs` (rows, lists, claims, cancellations, what comes back from a backup), `listing`
(the statement that lists runs), `searching` (for words).
"""
