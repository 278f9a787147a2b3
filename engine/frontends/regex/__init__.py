"""Regular expressions: their syntax, and automata over characters."""
