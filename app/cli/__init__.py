"""The ``switchyard`` command: the command line (command), and a module for each thing it does."""

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit status."""
    error = _shadowing_error()
    if error is not None:
        print(f"switchyard: {error}", file=sys.stderr)
        return 2
    from .command import run_command

    return run_command(arguments)


def _shadowing_error() -> str | None:
    try:
        from adapters.shadowing import shadowing_error
    except ImportError:
        return (
            "another installed package shadows Switchyard's package 'adapters': remove it, or "
            "install Switchyard into an environment of its own"
        )
    return shadowing_error("adapters", "cache", "engine")
