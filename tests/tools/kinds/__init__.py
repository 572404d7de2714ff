"""The kinds of tools, each against real counterparts."""
