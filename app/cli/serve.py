"""``switchyard serve``: the gateway, until SIGINT or SIGTERM.

With ``SWITCHYARD_PROCESSES`` above 1 this process loads the tokenizer and then serves nothing
itself: it is the parent of the processes that do (server.process_group).
"""

import asyncio
import functools
import logging
import os
import signal
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from tempfile import TemporaryDirectory

from ..conversation import Tokenizer, load_tokenizer
from ..main import create_app
from ..observability import Forward, Logger, drop_gauges, keep_values_in, make_logger
from ..server import (
    Address,
    ProcessGroup,
    ProcessLink,
    Server,
    bind_all,
    longest_shutdown_s,
    make_server,
    make_tls,
    reserved,
    settle,
    use_huge_pages,
)
from ..settings import GatewaySettings, SettingError, Settings
from .environment import Unusable

#: seconds after which a thread releases the GIL to a waiting one. While a thread runs Python, the
#: event loop waits for it after every event: under hostile load the 99th percentile of plain
#: requests is 0.12 s with this value, 0.16 to 0.22 s with 1 ms, twice that with Python's 5 ms
SWITCH_S = 0.0002
#: a folder in memory for the values of metrics, if there is one
MEMORY = "/dev/shm"


def serve(settings: Settings) -> int:
    """Serve until a signal; return the exit status. Raises SettingError."""
    gateway = settings.gateway
    _check_host(gateway)
    make_tls(gateway)  # reports unusable files before a model is loaded
    logger = make_logger(gateway.log_level, sys.stdout)
    if gateway.processes > 1:
        return _serve_in_processes(settings, logger)
    _prepare(logger)
    server = make_server(create_app(settings, logger=logger), gateway, on_started=_move_memory)
    return _run(server)


def _move_memory() -> None:
    """Use huge pages soon, in a thread: the server answers meanwhile."""
    asyncio.get_running_loop().run_in_executor(None, use_huge_pages)


def _prepare(logger: Logger) -> None:
    """Set up a process that serves."""
    logging.basicConfig(handlers=[Forward(logger)], level=logging.WARNING)
    sys.setswitchinterval(SWITCH_S)


def _serve_in_processes(settings: Settings, logger: Logger) -> int:
    gateway = settings.gateway
    load = functools.cache(load_tokenizer)
    for model in settings.models:
        with suppress(ValueError):  # the first process reports it
            load(model.tokenizer_source, model.format, model.teaches)
    # collections in the processes would copy the pages of these objects
    settle()
    with _values_folder() as folder, _reserved(gateway) as addresses:
        for _, (host, port) in addresses:
            logger.info("listening", host=host, port=port, processes=gateway.processes)
        group = ProcessGroup(
            gateway.processes,
            functools.partial(_serve_one, settings, load, addresses, folder),
            on_end=functools.partial(drop_gauges, folder),
            shutdown_s=longest_shutdown_s(gateway),
            logger=logger,
        )
        status = group.run()
    if group.setting_error is not None:
        raise Unusable(group.setting_error)
    if group.signal is not None and not status:
        signal.raise_signal(group.signal)  # as a single process does
    return status


@contextmanager
def _reserved(gateway: GatewaySettings) -> Iterator[list[Address]]:
    with ExitStack() as stack:
        try:
            addresses = stack.enter_context(reserved(gateway.host, gateway.port))
        except OSError as error:
            place = f"{gateway.host}:{gateway.port}"
            reason = f"cannot listen on {place}: {error.strerror}"
            raise Unusable(f"SWITCHYARD_PORT: {reason}") from None
        yield addresses


def _values_folder() -> "TemporaryDirectory[str]":
    """Return a folder for the values of metrics, in memory if possible."""
    where = MEMORY if os.access(MEMORY, os.W_OK) else None
    try:
        return TemporaryDirectory(prefix="switchyard-", dir=where)
    except OSError as error:
        reason = f"several processes need a writable temporary folder: {error.strerror}"
        raise Unusable(f"SWITCHYARD_PROCESSES: {reason}") from None


def _serve_one(
    settings: Settings,
    load: Callable[[str | None, str, bool], Tokenizer],
    addresses: list[Address],
    metrics_folder: str,
    number: int,
    link: ProcessLink,
) -> int:
    """Serve in a process of a group; return its exit status."""
    keep_values_in(metrics_folder, number)
    logger = make_logger(settings.gateway.log_level, sys.stdout).bind(process=number)
    _prepare(logger)
    app = create_app(settings, logger=logger, load=load, metrics_folder=metrics_folder)

    def on_started() -> None:
        asyncio.get_running_loop().add_reader(link.parent, on_parent_ended)
        link.serving()
        _move_memory()

    def on_parent_ended() -> None:
        asyncio.get_running_loop().remove_reader(link.parent)
        server.should_exit = True

    server = make_server(app, settings.gateway, on_started=on_started)
    try:
        return _run(server, bind_all(addresses))
    except SettingError as error:
        link.unusable(error)
        return 1


def _run(server: Server, sockets: list[socket.socket] | None = None) -> int:
    """Run a server; return the exit status. Raises SettingError."""
    try:
        server.run(sockets)
    except SystemExit:
        # uvicorn exits this way when startup fails
        if server.setting_error is None:
            raise
    if server.setting_error is not None:
        raise server.setting_error
    return 0 if server.started else 1


def _check_host(settings: GatewaySettings) -> None:
    """Raise Unusable if the address to listen on does not resolve."""
    try:
        socket.getaddrinfo(settings.host, settings.port, type=socket.SOCK_STREAM)
    except OSError as error:
        reason = f"cannot listen on {settings.host!r}: {error.strerror}"
        raise Unusable(f"SWITCHYARD_HOST: {reason}") from None
