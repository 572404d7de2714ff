"""A Python function as a tool.

- `reference`: a function by `file.py:name` or `package.module:name`, made a tool
- `siblings`: what its file may import beside itself
- `isolated`: a tool with processes of its own that are kept (`isolate: process`)
- `process`: one such process, as its owner sees it
- `child`: what runs in it
- `messages`: what the two say to each other
"""
