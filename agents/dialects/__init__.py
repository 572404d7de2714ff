"""The forms of requests and answers that providers have; pure.

`chat` (chat completions), `refusals` (what a server says in place of an answer), `surrogates`
(halves of characters in it).
"""
