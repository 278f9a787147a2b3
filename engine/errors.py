"""The engine's errors: refusals of invalid input, and internal errors.

A refusal names a location (a JSON pointer into the input) and, if a limit was exceeded, the limit
and the actual value. An ``InternalError`` is a bug of the engine: the caller counts it and ends the
request.
"""


class EngineError(Exception):
    """Base of all errors that the engine raises on purpose."""


class SpecError(EngineError):
    """A schema, pattern, grammar or structural tag is invalid, or no text can satisfy it.

    ``pointer`` is the JSON pointer of the location ("" is the root).
    """

    def __init__(self, message: str, pointer: str = "") -> None:
        super().__init__(f"at {pointer or '/'!s}: {message}" if pointer else message)
        self.message = message
        self.pointer = pointer


class UnsupportedSchema(SpecError):
    """A keyword is valid, but the engine cannot enforce it. Such keywords are never ignored."""

    def __init__(self, pointer: str, keyword: str, message: str = "") -> None:
        super().__init__(message or f"the keyword {keyword!r} can't be enforced here", pointer)
        self.keyword = keyword


class LimitExceeded(EngineError):
    """A limit on work was exceeded.

    ``limit`` is its name in ``Limits``, ``maximum`` its value, ``got`` the actual value.
    """

    def __init__(self, limit: str, maximum: int, got: int, pointer: str = "") -> None:
        place = f" at {pointer}" if pointer else ""
        super().__init__(f"{limit}{place}: at most {maximum:,} allowed, got {got:,}")
        self.limit = limit
        self.maximum = maximum
        self.got = got
        self.pointer = pointer


class Cancelled(EngineError):
    """A compile was cancelled because its result is no longer needed."""


class InternalError(EngineError):
    """An invariant of the engine is broken. The request must end with an error."""


class ParseDivergence(InternalError):
    """The event parser met text that its grammar does not allow.

    Masks of the same grammar should have prevented such text.
    """
