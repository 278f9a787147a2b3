"""The installed version."""

from importlib import metadata


def version() -> str:
    """The distribution's version; "0+unknown" where only the source tree is there."""
    try:
        return metadata.version("switchyard")
    except metadata.PackageNotFoundError:
        return "0+unknown"
