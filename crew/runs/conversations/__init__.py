"""Conversations: `conversations` (begun, named, deleted), `exchanges` (runs of conversations).

`core_memory` (what people read and correct).

`chores` (work after runs), with its `chore_kinds`: `helper_chores` (titles and summaries).
"""
