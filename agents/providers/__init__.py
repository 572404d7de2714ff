"""Models of providers.

`catalog` (a model by its configuration), `openai_chat` (chat completions), `connections` (to an
endpoint), `openai_reply` (an answer of such a server, read), `scripted` (answers from script.yaml).
"""
