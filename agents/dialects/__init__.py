"""The forms of requests and answers that providers have; pure.

`by_name` (all of them), `chat` (chat completions), `responses` (OpenAI's responses), `anthropic`
(its messages), `outgoing` (what each is given), `collector` (what has come of an answer),
`partial_calls` (its tool calls), `call_ids`, `counts` (of tokens), `refusals` (what a server says
in place of an answer), `surrogates` (halves of characters in it).
"""
