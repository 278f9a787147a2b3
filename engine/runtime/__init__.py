"""What callers hold: compiled grammars, matchers, batches and parsers."""
