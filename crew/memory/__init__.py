"""What a crew remembers, beside its conversations: what may be kept, and how it is changed.

Pure: `core` (blocks that are always shown).
"""
