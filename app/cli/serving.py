"""``switchyard serve``: the gateway, until SIGINT or SIGTERM."""

import logging
import sys

from ..logging import Forward, make_logger
from ..main import create_app
from ..server import make_server
from ..settings import Settings

#: seconds after which a thread gives up the GIL that another one waits for. Under hostile load the
#: event loop waits for several in a row: with Python's own 5 ms plain requests took twice as long,
#: at the median and at the 99th percentile
SWITCH_S = 0.001


def serve(settings: Settings) -> int:
    """Returns the exit status."""
    logger = make_logger(settings.log_level, sys.stdout)
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    sys.setswitchinterval(SWITCH_S)
    server = make_server(create_app(settings, logger=logger), settings)
    server.run()
    return 0 if server.started else 1
