"""What a run changes in memory, and is shown of documents, as its events say.

`events`, `sources` (passages with their numbers), `envelopes` (as clients get them).
"""
