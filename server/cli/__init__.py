"""What an operator types.

`main` (the command), `serving`, `runs`, `files`, `init`, `doctor` and `tools` (commands about
them), `opening` (from the command line to a crew), `play` (a run in the terminal), `output` and
`run_view` (its events), `live` (who is at work), `words` (what a person's words decide), `stored`
(runs that are kept), `remote` (those of a server), `backup`, `hints` (how a pause is answered),
`inbox`, `validate`, `explain`, `tokens`, `audit` (who did what), `grants` (approvals that outlive
their run), `talk` and `conversations`, `notify`, `schedules`, `leaks` (`crew leakcheck`), `sarif`,
`json_schema`, `api_file` (an OpenAPI document that is given), `lock` (mcp.lock.json), `starter`,
`samples` (arguments for rehearsals), `runbook`, `imports` (files of other programs), `starter_from`
and `interview` (what `crew init` writes), `exits` (how a command ends).
"""
