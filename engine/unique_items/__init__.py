"""Unique items and keys: what a mask loses because the text has used a value already."""
