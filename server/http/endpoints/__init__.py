"""One short function for each endpoint: `runs` (start, resume, follow), `crew`, `health`."""
