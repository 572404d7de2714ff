"""Handlers of tools: `function` (a Python function as one), `threads` (for those that block).

`running` (those that run now), `output` (what of an output the model is shown).
"""
