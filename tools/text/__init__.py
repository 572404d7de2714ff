"""Texts: `texts` (changed: all of a JSON value, and for a terminal), `suggest` (did you mean).

`secrets` (found and masked), `server_words` (what a server says with an error).
"""
