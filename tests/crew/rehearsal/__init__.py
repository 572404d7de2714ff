"""Rehearsals: their files, what stands in for the world, what must hold."""
