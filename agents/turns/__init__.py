"""One turn of an agent.

`turn` (it speaks, it acts), `request` (what its model is sent), `calls` (which calls an answer
makes).
"""
