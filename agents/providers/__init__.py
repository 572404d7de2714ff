"""Models of providers.

`catalog` (a model by its configuration), `openai_chat` (chat completions), `connections` (to an
endpoint), `server_events` (the bytes of an answer), `lessons` (what a refusal teaches), `probe`
(whether it can be used), `scripted` (answers from script.yaml).
"""
