"""What is known of a crew's files while they are written: for editors, and the page that edits.

`features` (hover, definitions, changes that are offered), `completion` (what may be written),
`folders` (a crew as an editor has it, checked), `names` (agents, signals, tools, and where they
stand), `files` (files and functions that are named), `places` (what a cursor is in), `shapes` (keys
and values at a place), `renaming`, `schemas` (JSON schemas of the files).
"""
