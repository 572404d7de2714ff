"""What a run changes in memory, as its events say: `events`, `envelopes` (as clients get them)."""
