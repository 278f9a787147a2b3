"""The HTTP server around the app: connections, event streams, processes, shutdown."""

from .comments import Comments
from .drain import Drain
from .event_stream import (
    COMMENT,
    EVENT_STREAM,
    Disconnected,
    EventStream,
    Pulled,
    run_until_disconnect,
)
from .garbage_collection import frozen, settle
from .huge_pages import use_huge_pages
from .listening_sockets import Address, bind_all, reserved
from .page_headers import page_headers
from .process_group import ProcessGroup, ProcessLink
from .tls import make_tls
from .uvicorn_server import Server, longest_shutdown_s, make_server
