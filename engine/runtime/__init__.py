"""Compiled grammars, matchers, batches and event parsers: the objects that callers hold."""
