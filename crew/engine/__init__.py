"""One run: the loop, its groups, and the calls that a person decides on.

Modules, in reading order: `executor` (the loop), `groups` (members at the same time), `approvals`
(what a person is asked before calls are made), `crashes` (a run that ends its process).
"""
