"""The shop's stock."""

STOCK = {"green tea": 12, "black tea": 0, "coffee": 7}


def stock(product: str) -> dict[str, str | int]:
    """Look up how many packets of a product are left.

    Args:
        product: its name.
    """
    packets = STOCK.get(product, 0)
    return {"product": product, "packets": packets, "text": f"{product}: {packets} packets"}
