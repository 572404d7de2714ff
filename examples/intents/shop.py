"""The shop's stock."""

STOCK = {"green tea": 12, "black tea": 0, "coffee": 7}


def stock(product: str) -> str:
    """Look up how many packets of a product are left.

    Args:
        product: its name.
    """
    return f"{product}: {STOCK.get(product, 0)} packets"
