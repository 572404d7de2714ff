"""What the crew would do: `replays` (of stored runs), `checked` (files before a reload)."""
