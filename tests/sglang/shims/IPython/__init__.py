# ruff: noqa: N999
"""In place of IPython: the server's helpers for notebooks import ``IPython.display``."""
