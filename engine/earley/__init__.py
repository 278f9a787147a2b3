"""The recogniser: interned Earley sets (rows), built while texts are walked."""
