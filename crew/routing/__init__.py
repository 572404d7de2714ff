"""Where words lead: pure functions of what was said, and the graph of all ways.

Modules, in reading order: `signals` (found in text), `steps` (what can follow an answer), `rules`
(an agent's ways out, in order), `decisions` (what was said to where to go next), `exploration`
(what a run can come to), `graph` (reachable, traps, loops), `render` (text, mermaid, dot, JSON).
"""
