"""The ``switchyard`` command: ``serve`` runs the gateway, ``version`` names what is installed."""

import argparse
import logging
import sys
from collections.abc import Sequence

from pydantic import ValidationError

from .settings import Settings
from .version import version


def main(arguments: Sequence[str] | None = None) -> int:
    """Returns the exit status."""
    parser = argparse.ArgumentParser(
        prog="switchyard",
        description="OpenAI-compatible gateway whose output fits what was asked for.",
    )
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("serve", help="run the gateway; settings come from SWITCHYARD_* variables")
    commands.add_parser("version", help="print the version")
    if parser.parse_args(arguments).command == "version":
        print(version())
        return 0
    return serve()


def serve() -> int:
    """Runs until SIGINT or SIGTERM."""
    try:
        settings = Settings()
    except ValidationError as error:
        print(_explain(error), file=sys.stderr)
        return 2
    import uvicorn

    from .logging import Forward, make_logger
    from .main import create_app

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


def _explain(error: ValidationError) -> str:
    """One line a mistake, by the variable's name, without the value: it may be a secret."""
    lines = []
    for problem in error.errors(include_url=False, include_input=False):
        where = f"SWITCHYARD_{str(problem['loc'][0]).upper()}" if problem["loc"] else "settings"
        lines.append(f"switchyard: {where}: {problem['msg']}")
    return "\n".join(lines)
