"""Models of providers.

`catalog` (a model by its configuration), `openai_chat` (chat completions), `bodies` (a request),
`connections` (to an endpoint), `server_events` (the bytes of an answer), `openai_reply` (an answer,
read), `partial_calls` (its tool calls), `surrogates`, `refusals` (what it says in place of an
answer), `lessons` (what that teaches), `probe` (whether it can be used), `scripted` (answers from
script.yaml).
"""
