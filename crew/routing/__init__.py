"""Where words lead: pure functions of what was said, and the graph of all ways.

Modules, in reading order: `signals` (found in text), `outputs` (conditions on typed answers),
`steps` (what can follow an answer), `rules` (an agent's ways out, in order), `members` (where those
of a group lead), `coverage` (which
answers each route by output takes), `decisions` (what was said to where to go next), `exploration`
(what a run can come to), `graph` (reachable, traps, loops), `render` (text, mermaid, dot, JSON).
"""
