"""Texts: changed, compared, suggested, masked.

`texts` (all of a JSON value, and for a terminal), `folding` (the same but for case and white
space), `scripts` (without spaces between words), `suggest` (did you mean), `secrets` (found and
masked), `server_words` (what a server says with an error), `lengths` (of time, such as 7d),
`yaml_text` (YAML as people write it).
"""
