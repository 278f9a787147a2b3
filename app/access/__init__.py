"""API keys: their sources, their holders, and the limits of each."""
