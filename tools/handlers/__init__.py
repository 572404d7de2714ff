"""Handlers of tools: `function` (a Python function as one), `threads` (for those that block).

`running` (those that run now), `progress` (what they report), `output` (what of an output the model
is shown).
"""
