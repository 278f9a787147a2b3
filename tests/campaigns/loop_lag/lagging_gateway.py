"""``python -m tests.campaigns.loop_lag.lagging_gateway``: a gateway that notes its loop's stalls.

Every stall is a line of the file LAG_FILE: when it ended (monotonic seconds), how long the loop was
late, and the processor time that the process used meanwhile. A stall of the process's own making
uses processor time; on a busy machine the other ones only wait for a turn.
"""

import asyncio
import os
import sys
import time
from typing import TextIO

from app.cli.serving import SWITCH_S
from app.logging import make_logger
from app.main import create_app
from app.server import make_server
from app.settings import Settings

TICK_S = 0.01
#: stalls that are noted
LEAST_S = 0.01


async def watch(stalls: TextIO) -> None:
    """Writes down every stall."""
    while True:
        start, used = time.monotonic(), time.process_time()
        await asyncio.sleep(TICK_S)
        now = time.monotonic()
        late = now - start - TICK_S
        if late >= LEAST_S:
            stalls.write(f"{now} {late} {time.process_time() - used}\n")
            stalls.flush()


async def serve(stalls: TextIO) -> None:
    settings = Settings()
    app = create_app(settings, logger=make_logger(settings.log_level, sys.stdout))
    watching = asyncio.create_task(watch(stalls))
    await make_server(app, settings).serve()
    watching.cancel()


if __name__ == "__main__":
    with open(os.environ["LAG_FILE"], "w", encoding="ascii") as file:
        sys.setswitchinterval(SWITCH_S)
        asyncio.run(serve(file))
