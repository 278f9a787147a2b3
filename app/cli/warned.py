"""What a package of ours warned of while a command ran: a store says nowhere else why it failed.

In a log it would stand between the lines of progress.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


class _Remembering(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.told: dict[str, None] = {}

    def emit(self, record: logging.LogRecord) -> None:
        self.told[record.getMessage()] = None


@contextmanager
def warnings_of(package: str) -> Iterator[dict[str, None]]:
    """The messages so far, in their order, each once."""
    handler, logger = _Remembering(), logging.getLogger(package)
    logger.addHandler(handler)
    try:
        yield handler.told
    finally:
        logger.removeHandler(handler)
