"""What stands in for the world in a rehearsal.

`world` (what a crew has wanted of it), `queue` (what is given in order, each used up), `standing`
(what all models in place of others have), `models`, `real` (models that answer themselves),
`spending` (what that may cost), `tools`, `people`, `faults` (what goes wrong with models and
tools), `mortal` (a store of a process that ends), `doubles` (all that a crew is made with).
"""
