"""Files of Word.

`word_file` (their text, as its reader sees it), `pages` (what stands above and below it).
"""
