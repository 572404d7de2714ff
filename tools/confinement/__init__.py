"""What a process gives up for good, before it reads what others wrote.

`landlock` (rights on files and TCP, by the kernel), `calls` (sockets, processes, modes of files),
`confine` (all of it, for a process of our own that only computes).
"""
