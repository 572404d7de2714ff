"""What bounds a call: `deadline` (time left), `retry` (which errors are worth another try).

`waits` (how long servers ask to wait), `guards` (how many calls may run, and whether the tool
works), `results` (that are used again).
"""
