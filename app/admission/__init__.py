"""Admission control: which request runs, which one waits, and which one is refused."""
