"""The two names that are imported."""

from typing import Any


class HTML(str):
    """The output of a notebook."""


def display(*_: Any, **__: Any) -> None:
    """Shows nothing."""
