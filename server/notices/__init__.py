"""Notices that leave the process.

`sender` (takes them from the store's outbox, and tries again), `delivery` (one try, by HTTP or
SMTP), `messages` (what each kind of channel is sent).
"""
