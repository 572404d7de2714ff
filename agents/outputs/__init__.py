"""Typed answers: an agent's `output`.

`schema` (which objects it may be), `vocabularies` (texts that are known), `answers` (an answer is
read and checked, without coercion), `plans` (of tasks), `typed` (all of it for one agent, and what
its model is told).
"""
