"""What an agent of a run changes in memory by its tools, and finds there.

`run_memory` (all that its tools may do), `core` (blocks), `recall` (items), `documents` (searched
and read), `finding` (by words and vectors), `counting` (what vectors cost), `speaker` (who does it,
and what proves that the person said so), `pasting` (what may have been pasted).
"""
