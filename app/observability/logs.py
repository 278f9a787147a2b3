"""Structured logs: one JSON object a line, without prompts, answers or secrets.

No global configuration: a logger is created once and passed on. Events carry names and numbers
only, never text of a client; tracebacks come without local variables.
"""

import logging
from typing import TextIO

import structlog
from structlog.tracebacks import ExceptionDictTransformer
from structlog.typing import FilteringBoundLogger

#: the type of the app's logger
Logger = FilteringBoundLogger


def make_logger(level: str, out: TextIO) -> Logger:
    """Return a logger that writes JSON lines of at least ``level`` to ``out``."""
    logger: Logger = structlog.wrap_logger(
        structlog.WriteLogger(out),
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.ExceptionRenderer(ExceptionDictTransformer(show_locals=False)),
            structlog.processors.JSONRenderer(sort_keys=False, default=str),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        cache_logger_on_first_use=False,
    )
    return logger


class Forward(logging.Handler):
    """Forwards records of the standard library's logging, which libraries use, to a logger."""

    def __init__(self, logger: Logger) -> None:
        super().__init__()
        self._logger = logger

    def emit(self, record: logging.LogRecord) -> None:
        self._logger.log(
            record.levelno,
            record.getMessage(),
            logger=record.name,
            exc_info=record.exc_info or None,
        )
