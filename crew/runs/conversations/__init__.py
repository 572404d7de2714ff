"""Conversations: `conversations` (begun, named, deleted), `exchanges` (runs of conversations).

`chores` (what helpers do after runs).
"""
