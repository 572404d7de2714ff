"""Python tools in processes of their own (`isolate: process`).

- ``tool``: a tool whose calls go to processes that are kept
- ``process``: one such process, as its owner sees it
- ``child``: what runs in it
- ``messages``: what the two say to each other
"""
