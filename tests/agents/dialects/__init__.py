"""The dialects of providers."""
