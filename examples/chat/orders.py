"""The orders of the shop."""

PRICES = {"sencha": 9, "oolong": 12, "jasmine": 7}


def place_order(tea: str, packs: int) -> str:
    """Place an order of so many packs of 100 g."""
    if tea not in PRICES:
        raise ValueError(f"there is no {tea}; there is {', '.join(PRICES)}")
    return f"ordered {packs} × 100 g of {tea}: {packs * PRICES[tea]} EUR"
