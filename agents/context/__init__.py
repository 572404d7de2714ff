"""What a model is shown: `view` (the conversation as one agent sees it), `window` (what fits)."""
