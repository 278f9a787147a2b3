"""Harmony, the format of gpt-oss: its grammar, its prompt and its builtin tools."""
