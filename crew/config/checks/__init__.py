"""What must hold between the files of a crew.

Modules, in reading order: `validate` (all checks together), `references` (names that nothing has),
`agents` (their tools), `models` (and providers), `costs` (prices), `thinking` (what each model
takes), `credentials` (of the environment), `tools` (what they may reach), `schemas` (of their
arguments), `timeouts` (that never come), `prompts`, `signals` (and groups), `outputs` (typed
answers, plans), `script`, `remembered` (conversations, memory), `untrusted` (text of others),
`routing` (the graph), `no_effect` (what is configured and never used).
"""
