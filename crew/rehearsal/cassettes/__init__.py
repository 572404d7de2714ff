"""A cassette: all that the world has said in a run, as a file of JSON lines.

`lines` (its shape), `redaction` (what is left out of it), `said` (as the keys of a rehearsal).
"""
