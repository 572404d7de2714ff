"""What a model writes into its text: tool calls, with its template's marks or alone, and thoughts.

`find` (the calls of an answer), `forms` (how a call is written), `regions` (where marks stand),
`text_calls` (calls without marks), `call_names` (the tool that is meant), `thoughts` (what a text
begins with), `fences` (code in a text).
"""
