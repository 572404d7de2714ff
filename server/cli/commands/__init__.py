"""The commands, each with its help: `main` names them.

`init`, `files` (validate, graph, explain, schema), `runs` (run, runs, retry, cancel), `talk`,
`serving` (serve, worker), `inbox`, `remembered` (conversations, memory, documents), `tools` (tools,
call), `doctor`, `schedules` (and hooks), `notify`, `grants` (approvals that outlive their run),
`audit` (who did what), `spent` (costs, prices, budgets), `why`, `backup` (and restore), `served`
(what is the same for a server and a folder), `tokens`.
"""
