"""Runs in the terminal.

`local_runs` (of a folder), `play` (one of them, from the question to the answer), `asking` (what
people are to say), `answers` (what options say).
"""
