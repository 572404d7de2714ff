"""One turn of an agent.

`turn` (it speaks, it acts), `request` (what its model is sent), `requests` (that an answer took),
`answers` (what an answer says), `kept` (answers that are used again), `shortening` (of a run's
oldest messages).
"""
