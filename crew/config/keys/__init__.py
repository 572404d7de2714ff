"""The shape of crew.yaml: `crew_file`, with its `hooks`, `notify`, `schedules`, `conversations`.

`matters` (what the POST of a hook asks), `models` (which model a file means), `outputs` (routes by
typed answers, and vocabularies), `memory`, `documents`, `embeddings` (of both), `gate` (of
reloads), `budgets`, `replay` (how runs are kept).
"""
