"""Containers, hashes and counters in C++ memory, used by every other room."""
