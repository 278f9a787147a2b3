"""Request to grammar: what an answer must look like, and the compiled grammar that enforces it."""
