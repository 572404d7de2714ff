"""OpenAI's API (`/v1`): models, chat completions and responses.

`shape` (what both have in common), `chat` and `chat_fold`, `responses` and `responses_fold`,
`items` (the output of responses), `door` (the routes).
"""
