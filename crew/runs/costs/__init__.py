"""What the runs of a crew have cost.

`report` (sums, as commands and the API show them), `pots` (of budgets), `waiting` (runs that
wait for room go on together).
"""
