"""What models cost.

`costs` (what was spent), `prices` (of the models of a crew), `budgets` (how full they are).
"""
