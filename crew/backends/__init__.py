"""Where runs are kept and queued; each module here is a RunStore or belongs to one.

`memory`, `memory_logs`, `memory_conversations`, `memory_chores`, `memory_core`, `memory_recall`,
`memory_documents`, `memory_costs`, `memory_budgets`, `memory_vectors`, `memory_people`,
`memory_revisions` and `memory_cluster` (end with their process), `sqlite` (one file, one process),
`postgres` (any number of processes, with a queue and its workers), `sql` (what both databases do
alike, written once), `conformance` (checks that every store must pass).
"""
