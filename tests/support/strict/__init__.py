"""Servers that check requests as those of providers do, and answer in their forms; pure."""
