"""What calls of models may cost, by the files of a crew.

`prices` (of a model, wherever the files say it), `others` (models that no agent names), `lists` (of
prices that others keep), `budgets`.
"""
