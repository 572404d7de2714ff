"""Memory: what is remembered beside conversations."""
