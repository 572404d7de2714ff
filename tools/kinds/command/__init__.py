"""A program of this machine as a tool; on Linux.

- `tool`: one call: start the program, read what it writes, end it in time
- `arguments`: an entry and arguments -> argv and standard input
- `process`: a program and all that it starts, ended together
- `marks`: what carries a call's mark in its environment, and is ended with it
- `sandbox`: what a program may read, write and reach
- `refusals`: what of a failed program's words may be a refusal of the sandbox
"""
