"""Token masks: of an automaton's state, and of a row."""
