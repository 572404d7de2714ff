"""Requests and answers of OpenAI's responses API.

`items` (what a conversation is made of), `body` (a request), `reply` (an answer, read).
"""
