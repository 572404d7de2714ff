"""Conversations: `conversations` (begun, named, deleted), `exchanges` (runs of conversations).

`chores` (work after runs), with its `chore_kinds`: `helper_chores` (titles and summaries).
"""
