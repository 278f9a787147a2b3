"""The reading of answers: the engine's events in, deltas of a message out."""
