"""What operators see of a process.

`metrics` (Prometheus; `series`: all that there are) and `logs` (text or JSON lines).
"""
