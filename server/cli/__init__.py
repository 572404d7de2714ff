"""What an operator types.

`main` (the command), `parsing` (how its words are read), `commands` (each of them), `options` (of
several of them), `opening` (from the command line to a crew), `playing` (runs in the terminal),
`view` (their events), `local` (what is found out in a folder), `words` (what a person's words
decide), `stored` (runs that are kept), `matching` (which of them are meant), `served` (a server's),
`hints` (how a pause is answered), `validate`, `rehearsed` (`crew test`), `replayed` (`crew replay`,
`crew record`, `crew fork`, `crew diff`), `explain`, `sarif`, `mcp` and `lsp` (`crew mcp`, `crew
lsp`), `leaks` (`crew leakcheck`), `starting` (what a new crew begins with), `imports` (files of
other programs), `exits` (how a command ends).
"""
