"""What is kept for people: memory and documents.

`core` (core memory), `recall` (recall memory), `documents` (their texts, and what words find),
`vectors` (of both), `people` (all that is kept of a user).
"""
