"""What a crew remembers, as people and programs handle it.

`people` (all of it), `core` (blocks), `recall` (items), `export` (everything of a user), `vectors`
(where they are kept).
"""
