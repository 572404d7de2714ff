"""How many tokens a text is: `tokens` (an estimate, and what is learned), `tokenizers` (exact)."""
