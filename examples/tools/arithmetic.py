"""A tool: its schema comes from the signature, its description from the docstring."""


def percent(part: float, whole: float) -> float:
    """So many percent of a number.

    Args:
        part: the percentage
        whole: the number
    """
    return round(part * whole / 100, 6)
