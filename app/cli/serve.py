"""``switchyard serve``: the gateway, until SIGINT or SIGTERM."""

import logging
import socket
import sys

from ..main import create_app
from ..observability.logs import Forward, make_logger
from ..server.uvicorn_server import make_server
from ..settings import GatewaySettings, Settings
from .environment import Unusable, unusable

#: seconds after which a thread releases the GIL to a waiting one. While a thread runs Python, the
#: event loop waits for it after every event: under hostile load the 99th percentile of plain
#: requests is 0.12 s with this value, 0.16 to 0.22 s with 1 ms, twice that with Python's 5 ms
SWITCH_S = 0.0002


def serve(settings: Settings) -> int:
    """Serve until a signal; return the exit status. Raises Unusable."""
    gateway = settings.gateway
    _check_host(gateway)
    logger = make_logger(gateway.log_level, sys.stdout)
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    sys.setswitchinterval(SWITCH_S)
    server = make_server(create_app(settings, logger=logger), gateway)
    try:
        server.run()
    except SystemExit:
        # uvicorn exits this way when startup fails
        if server.setting_error is None:
            raise
    if server.setting_error is not None:
        raise unusable(server.setting_error)
    return 0 if server.started else 1


def _check_host(settings: GatewaySettings) -> None:
    """Raise Unusable if the address to listen on does not resolve."""
    try:
        socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except OSError as error:
        reason = f"cannot listen on {settings.host!r}: {error.strerror}"
        raise Unusable(f"SWITCHYARD_HOST: {reason}") from None
