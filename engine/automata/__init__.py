"""The automaton of each rule: built from lowered nodes, byte by byte or as a special case."""
