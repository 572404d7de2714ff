"""The doors: HTTP and terminal; the top floor.

Rooms, in reading order: `cli`, `playing` and `terminal` (what an operator types and sees), `serving` (the process, from start to
SIGTERM), `app` (puts the HTTP house together), `guard` (who may come in), `routes` (one function an endpoint),
`requests` (what is asked), `replies` (problems and answers), `sse` (event to frame), `attendance` (who listens, and the
grace for those who left), `metrics`, `logs`, `settings`, `schemas` (for editors), `starter` (what `crew init` writes);
and console/, the web page.
"""
