"""What operators see of a process.

`metrics` (Prometheus; `series`: all that there are; `zeros`: how they begin), `traces` and `logs`
(text or JSON lines).
"""
