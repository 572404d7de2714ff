"""A tool with an effect."""


def book(people: int) -> str:
    """Book a table."""
    return f"table for {people}, tonight at eight"
