"""Work after runs.

`chores` (does what is due), `kinds` (a kind of it), `helper_chores` (titles and summaries),
`learning` (of what people say) and `lessons` (what an answer may teach), `helpers` (what helpers
are shown, and who counts their requests), `documents` (read, described, dropped), `embedding`
(vectors of texts), `erasure` (of a user).
"""
