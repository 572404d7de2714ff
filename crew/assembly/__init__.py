"""Configuration -> live objects; the only bridge between the two.

Modules: `given` (what a program gives beside the files), `tools`, `description` (a tool that
describes the crew), `models`, `tokenizers`, `prompts`, `contexts` (what models are shown), `memory`
(what is remembered), `documents` (their collections), `embedders` (what makes vectors), `checked`
(files and their problems), `recipe` (what checks them), `helpers` (models beside the runs),
`limits` (of runs), `agents`.
"""
