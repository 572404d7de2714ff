"""What is remembered, and the people it is of, in the database of a store.

`core` (core memory), `recall` and `items` (recall memory, and how its items change), `documents`
and `versions` (documents, and how they change), `vectors` (of both), `people` (all that is of a
user).
"""
