"""Bytes that anyone may have sent, read into text by a process that can do nothing else.

`kinds` (what bytes are), `reader` (starts the process, and bounds it), `child` (what runs in it),
`results` (what the two say), `marked` (a text with its places), `archives` (what office files are
packed in); by kind: `plain` (text, Markdown, CSV, JSON), `html`, `sheets` and `styles` (what HTML
hides), `mail`, `pdf` and `forms` (what is filled in), `word`, `office` (tables of Excel, slides of
PowerPoint).
"""
