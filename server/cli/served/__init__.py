"""Commands that go to a server, or to a folder as a server would answer.

`options` (which server is meant), `api` (requests, and what is printed when they fail), `local`
(the API of a folder, in this process), `in_process` (how it is sent requests), `following` (a run
that goes on at a server), `talking` (a conversation there), `forking` (a copy of a run), `runs`
(lists of them, and one with its events), `examining` (what may be wrong with a server), `rolling`
(a folder, taken back).
"""
