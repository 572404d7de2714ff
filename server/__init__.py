"""HTTP and terminal: the top layer.

Sub-packages and modules, from the top: `lsp` (editors), `cli` (what an operator types), `process`
(the processes), `protocols` (AG-UI, OpenAI's API and others), `http` (endpoints and streams),
`editing` (the crew's files, changed), `authoring` (what is known of them meanwhile), `client` (of a
server), `history` (stored runs), `replay_jobs` (many stored runs, played again), `gate` (what new
files must pass), `notices` (what channels get notices), `telemetry` (metrics and logs), `settings`
and `variables` (the environment), `background` (what goes on beside requests), `backups` (of the
database), `identity` (who others say a caller
is), `tokens` (who may call), `errors`, `owned_files`; and console/, the web page, and clients/, for
other languages.
"""
