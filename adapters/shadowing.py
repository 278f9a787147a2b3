"""Detection of other installed packages that shadow one of Switchyard's.

The top-level packages have short names (docs/adr/0007), so another distribution may install one of
the same name. Python imports the first one on its path. This check at startup reports the conflict
instead of an ImportError from deep inside.
"""

from importlib.util import find_spec
from pathlib import Path


def shadowing_error(*names: str) -> str | None:
    """Return one sentence about the first of these packages that is not Switchyard's; None: all
    are.
    """
    home = Path(__file__).parents[1]
    for name in names:
        found = find_spec(name)
        origin = None if found is None else found.origin
        if origin is None or not Path(origin).parents[1].samefile(home):
            return (
                f"another installed package, {origin}, shadows Switchyard's package {name!r} in "
                f"{home}: remove it, or install Switchyard into an environment of its own"
            )
    return None
