"""One run: the loop, its groups, and the calls that a person decides on.

Modules, in reading order: `executor` (the loop), `groups` (members at the same time), `plans`
(tasks, once what they need is done), `members` (one member, one task), `turns` (of agents),
`questions` (what a person decides), `approvals` (for which calls, and what becomes of them),
`memory` (what agents change by tools), `taint` (text of others that was read), `decisions` (whether
an answer fits), `form_questions` (what tools ask before they go on), `context` (what is loaded for
agents), `spending` (what requests cost, and may), `emitting` (what becomes of events), `masking`
(all words without secrets), `endings` (the row of a run that has ended), `crashes` (a run that ends
its process).
"""
