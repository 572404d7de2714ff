"""What calls of models cost.

`usage` (tokens of a call, and what they cost), `prices` (of a model's tokens), `shape` (of prices
in files), `refusal` (why a budget has no room).
"""
