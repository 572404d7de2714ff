"""Other protocols by which clients talk to a crew: each a fold of the events of its runs.

`doors` (the table of them), `folds` (what all folds have in common, and how they are served),
`speech` (what agents say to people, without signals), `pauses` (questions to a person, and their
answers), `answers` (which pause they are for), `clients` (what clients say), `branches` (what a
client goes on with that has changed its history); and a folder for each:
`a2a`, `agui`, `mcp`, `openai`, `ai` (the AI SDK's UI stream).
"""
