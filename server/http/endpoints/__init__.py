"""Short functions, one for each endpoint.

`runs` (start to end), `crew`, `health`, `tickets`, `grants`.
"""
