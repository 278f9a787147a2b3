"""Structural tags: text with regions that begin and end with tags."""
