"""Requests and answers of Anthropic's messages API.

`body` (what is sent), `blocks` (its messages), `reply` (what comes back)
"""
