"""Families whose calls are tags in text: their grammar, arguments and prompts, made from data."""
