"""Chat completions.

`messages` (one message, one tool), `body` (a request), `reply` (an answer, read).
"""
