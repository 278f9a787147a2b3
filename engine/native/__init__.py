"""Containers, hashes, counters and locks that any room uses; they know nothing of grammars."""
