"""``switchyard serve``: the gateway, until SIGINT or SIGTERM."""

import logging
import sys

from ..logging import Forward, make_logger
from ..main import create_app
from ..server import make_server
from ..settings import Settings


def serve(settings: Settings) -> int:
    """Returns the exit status."""
    logger = make_logger(settings.log_level, sys.stdout)
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    server = make_server(create_app(settings, logger=logger), settings)
    server.run()
    return 0 if server.started else 1
