"""API keys and tokens: their sources, their holders, and the limits of each."""
