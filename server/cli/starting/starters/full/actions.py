"""The tools of this crew: typed functions; the model reads their docstrings."""

NOTES = {"web": "Restart it when it answers slowly.", "mail": "Ask before you restart it."}


def look_up(topic: str) -> str:
    """Look something up in the notes of the shift.

    Args:
        topic: a service.
    """
    return NOTES.get(topic, f"There is no note on {topic}.")


def restart(service: str) -> str:
    """Restart a service."""
    return f"{service} would have been restarted."
