"""What is known of a crew's files while they are written: for editors, and the page that edits.

`features` (hover, what may be written, definitions, changes that are offered), `folders` (files as
an editor has them, checked), `names` (agents, signals, tools, and where they stand), `places` (what
a cursor is in), `shapes` (keys and values at a place), `renaming`, `schemas` (JSON schemas of the
files).
"""
