"""Commands of what a crew remembers: `conversations` (with memory and erasure), `documents`."""
