"""OpenAI's API (`/v1`): models, chat completions and responses.

`shape` (what both have in common), `chat` and `chat_fold`, `responses` and `responses_fold`,
`inputs` (what requests to them name and say), `items` (their output), `door` (the routes).
"""
