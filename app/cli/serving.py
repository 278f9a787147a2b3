"""``switchyard serve``: the gateway, until SIGINT or SIGTERM."""

import logging
import sys

import uvicorn

from ..logging import Forward, make_logger
from ..main import create_app
from ..settings import Settings


def serve(settings: Settings) -> int:
    """Returns the exit status."""
    logger = make_logger(settings.log_level, sys.stdout)
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    server = uvicorn.Server(
        uvicorn.Config(
            create_app(settings, logger=logger),
            host=settings.host,
            port=settings.port,
            log_config=None,
            access_log=False,
            server_header=False,
            # longer than the 60 s that a proxy usually keeps an idle connection: the proxy closes
            # first
            timeout_keep_alive=75,
            timeout_graceful_shutdown=int(settings.shutdown_seconds),
        )
    )
    server.run()
    return 0 if server.started else 1
