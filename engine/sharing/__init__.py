"""Caches and encodings of results that grammars and replicas share, and their keys."""
