"""Configuration -> live objects; the only bridge between the two.

Modules: `given` (what a program gives beside the files), `tools`, `models`, `tokenizers`,
`prompts`, `contexts` (what models are shown), `helpers` (models beside the runs), `limits` (of
runs), `agents`.
"""
