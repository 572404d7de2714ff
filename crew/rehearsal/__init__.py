"""Rehearsals: a crew is played without a model, and what happens is compared.

`keys` (the shape of a file), `files` (found, merged, checked), `doubles` (what stands in for the
world), `playing` (a rehearsal is played), `judging` (what happened, and what was to happen),
`covering` (how much of a crew is checked), `pins` (digests of what models are sent), `mutants`
(files with a mistake: who notices?), `measuring` (how often real models pass), `replaying` (stored
runs on other files), `cassettes` (a run as a file), `keeping` (of stored runs), `differences`
(between two versions of a crew), `suggesting` (for what none checks), `matching` (values and
texts).
"""
