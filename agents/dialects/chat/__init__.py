"""Chat completions.

`messages` (one message, one tool), `plain_schemas` (of tools, where few forms are known), `body` (a
request), `reply` (an answer, read).
"""
