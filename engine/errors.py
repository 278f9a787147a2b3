"""The engine's errors: what a caller can do wrong, and what only we can.

Every refusal names a place (a JSON pointer into what the caller sent) and, where a bound was
passed, both numbers. ``InternalError`` is never the caller's fault: whoever catches it counts it
and ends the request.
"""


class EngineError(Exception):
    """Base of everything the engine raises on purpose."""


class SpecError(EngineError):
    """A schema, pattern, grammar or structural tag that means nothing, or that nothing can satisfy.

    ``pointer`` is the JSON pointer of the offending place ("" is the root).
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(f"at {pointer or '/'!s}: {message}" if pointer else message)
        self.message = message
        self.pointer = pointer


class UnsupportedSchema(SpecError):
    """A keyword that has a meaning which the engine can't enforce. Refused, never dropped."""

    def __init__(self, pointer: str, keyword: str, message: str = "") -> None:
        super().__init__(message or f"the keyword {keyword!r} can't be enforced here", pointer)
        self.keyword = keyword


class LimitExceeded(EngineError):
    """A bound on work was passed.

    ``limit`` is its name in ``Limits``, ``maximum`` the bound, ``got`` what came.
    """

    def __init__(self, limit: str, maximum: int, got: int, pointer: str = "") -> None:
        place = f" at {pointer}" if pointer else ""
        super().__init__(f"{limit}{place}: at most {maximum:,} allowed, got {got:,}")
        self.limit = limit
        self.maximum = maximum
        self.got = got
        self.pointer = pointer


class Cancelled(EngineError):
    """A compile that ended early because nobody wants its result any more."""


class InternalError(EngineError):
    """A broken invariant of our own. The request that met it must end as an error."""


class ParseDivergence(InternalError):
    """The event parser met text that its grammar does not allow.

    The grammar that constrained the text should have prevented it.
    """
