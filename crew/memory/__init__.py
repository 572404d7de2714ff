"""What a crew remembers, beside its conversations: what may be kept, and how it is changed.

Pure: `core` (blocks that are always shown), `recall` (items that are found by search) and `words`
(by which they are), `proofs` (what a quote proves), `function_words` (that prove nothing) and
`names` (that a text shares with it), `rules` (all of it).
"""
