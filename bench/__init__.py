"""Benchmarks of the engine, alone or together with its peers in one run."""
