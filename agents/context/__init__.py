"""What a model is shown.

`shape` (of the YAML), `plan` (the same, live), `loaded` (what is loaded for it), `blocks` (texts of
others, as data), `view` (the conversation as one agent sees it), `window` (what fits).
"""
