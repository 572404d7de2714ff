"""What an operator types.

`main` (the command), `files` (commands about files), `play` (a run in the terminal), `run_view`
(its events), `validate`, `explain`, `sarif`, `json_schema`, `starter` (what `crew init` writes,
from starters/), `exits` (how a command ends).
"""
