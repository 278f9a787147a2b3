"""JSON pointers (RFC 6901), the one place that knows their escapes."""

Path = tuple[str, ...]


def escape(token: str) -> str:
    """Return a reference token as a pointer spells it."""
    return token.replace("~", "~0").replace("/", "~1") if "~" in token or "/" in token else token


def unescape(token: str) -> str:
    """Return the reference token that a part of a pointer spells."""
    return token.replace("~1", "/").replace("~0", "~") if "~" in token else token


def path_of(pointer: str) -> Path:
    """Return the reference tokens of a pointer; a URI fragment's ``#`` may come before it."""
    return tuple(map(unescape, pointer.split("/")[1:]))


def pointer_of(path: Path) -> str:
    """Return the pointer with these reference tokens."""
    return "".join(f"/{escape(token)}" for token in path)
