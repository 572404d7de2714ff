"""`crew leakcheck`: plants secrets, plays the crew against a model that repeats them, and searches.

`command` (what is done, and printed), `planting` (a copy of the crew with planted secrets),
`hostile_model` (a provider that says all it knows), `search` (for what was planted, also encoded).
"""
