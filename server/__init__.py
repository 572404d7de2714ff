"""The doors: HTTP and terminal; the top floor.

Rooms, in reading order: `cli`, `file_commands`, `ending`, `playing`, `checking` and `terminal`
(what an operator types and
sees), `explanations` (of every code), `sarif`, `serving` (the process, from start to SIGTERM),
`reloading` and `watching`
(edits while it serves), `app` (puts the HTTP house together), `working` (that of a worker), `guard`
(who may come in),
`routes` (one function an endpoint), `requests` (what is asked), `replies` (problems and answers),
`sse` (event to frame),
`attendance` (who listens, and the grace for those who left), `metrics`, `logs`, `settings`,
`schemas` (for editors),
`starter` and starters/ (what `crew init` writes); and console/, the web page.
"""
