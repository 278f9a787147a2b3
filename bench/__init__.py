"""Benchmarks of masks and of tool calling: our engine alone, or beside its peers in one run."""
