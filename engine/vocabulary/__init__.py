"""The tokens of a model: their bytes, and a trie over them."""
