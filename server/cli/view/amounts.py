"""Amounts of tokens and of money, for people."""

MILLION = 10**6


def tokens_text(count: int) -> str:
    """Return a number of tokens for people."""
    return f"{count / MILLION:.1f} M" if count >= MILLION // 20 else f"{count:,}"


def usd_text(usd: float) -> str:
    """Return an amount for people: cents, or what is less."""
    return f"${usd:,.2f}" if usd >= 0.1 or not usd else f"${usd:.6f}".rstrip("0")
