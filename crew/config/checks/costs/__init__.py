"""Checks of what calls of models cost: `prices`, `budgets`."""
