"""What an operator types.

`main` (the command), `runs`, `files` and `doctor` (commands about them), `opening` (from the
command line to a crew), `play` (a run in the terminal), `run_view` (its events), `validate`,
`explain`, `tokens`, `sarif`, `json_schema`, `starter` (what `crew init` writes, from starters/),
`exits` (how a command ends).
"""
