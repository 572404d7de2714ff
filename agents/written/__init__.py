"""Tool calls that a model writes into its text, with its template's marks or alone.

`find` (the calls of an answer), `forms` (how a call is written), `regions` (where marks stand).
"""
