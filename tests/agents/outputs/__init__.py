"""Typed answers, without a model."""
