"""The ``switchyard`` command: one file for the command line, and one for each thing it does."""

from .command import main

__all__ = ["main"]
