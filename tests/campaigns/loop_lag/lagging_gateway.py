"""``python -m tests.campaigns.loop_lag.lagging_gateway``: a gateway that notes its loop's lag.

Every 10 ms a timer fires. Each is a line of the file LAG_FILE: when it fired (monotonic seconds),
how late, and the processor time that the process used meanwhile. A stall of the process's own
making uses processor time; on a busy machine the other ones only wait for a turn. With ``--bare``
the loop has nothing else to do, which shows the machine's share. While a stall lasts, the stacks of
all threads are written to LAG_TRACES, where that names a file.
"""

import asyncio
import faulthandler
import os
import sys
import time
from contextlib import ExitStack
from typing import TextIO

import uvloop

from app.cli.serve import SWITCH_S
from app.main import create_app
from app.observability.logs import make_logger
from app.server.uvicorn_server import make_server
from app.settings import read_settings

TICK_S = 0.01
#: how long the loop is late before stacks are written
TRACED_S = 0.08


async def watch(stalls: TextIO, traces: TextIO | None) -> None:
    """Writes down every timer."""
    while True:
        if traces is not None:
            faulthandler.dump_traceback_later(TICK_S + TRACED_S, file=traces)
        start, used = time.monotonic(), time.process_time()
        await asyncio.sleep(TICK_S)
        now = time.monotonic()
        late = now - start - TICK_S
        stalls.write(f"{now} {max(late, 0.0)} {time.process_time() - used}\n")
        stalls.flush()


async def serve(stalls: TextIO, traces: TextIO | None) -> None:
    settings = read_settings()
    app = create_app(settings, logger=make_logger(settings.gateway.log_level, sys.stdout))
    # a watch that fails ends the gateway
    async with asyncio.TaskGroup() as tasks:
        watching = tasks.create_task(watch(stalls, traces))
        await make_server(app, settings.gateway).serve()
        watching.cancel()


if __name__ == "__main__":
    with ExitStack() as files:
        file = files.enter_context(open(os.environ["LAG_FILE"], "w", encoding="ascii"))
        stacks = None
        if "LAG_TRACES" in os.environ:
            stacks = files.enter_context(open(os.environ["LAG_TRACES"], "w", encoding="utf-8"))
        sys.setswitchinterval(SWITCH_S)
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(watch(file, None) if "--bare" in sys.argv else serve(file, stacks))
