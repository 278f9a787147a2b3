"""The version of the installed gateway."""

from importlib import metadata


def version() -> str:
    """Return the installed version; "0+unknown" for a source tree that is not installed."""
    try:
        return metadata.version("switchyard")
    except metadata.PackageNotFoundError:
        return "0+unknown"
