"""Conversations: `conversations` (begun, named, deleted), `exchanges` (runs of conversations)."""
