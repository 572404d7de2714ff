"""The queue: `queue` (Procrastinate, over `connector`), with its `queue_statements`.

`worker` (what takes jobs), its `heartbeat` and the process `heartbeat_sender`.
"""
