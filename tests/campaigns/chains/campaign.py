"""Rounds of turns; Redis is killed in the middle of each, and comes back before its end."""

import random
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from tests.redis_server import RedisServer

from .conversations import Conversation, Watch, client_of, replica

#: clients at once, and turns of each conversation in a round
THREADS, TURNS = 8, 4
#: shares of a round's turns after which Redis is killed and started
KILL, START = 1 / 2, 3 / 4


def run(chains: int, rounds: int, seed: int) -> Watch:
    """Return the outcomes of the conversations' turns, over two replicas."""
    watch, server = Watch(), RedisServer()
    with closing(server):
        server.start()
        with replica(server) as one, replica(server) as other:
            clients = [client_of(one), client_of(other)]
            made = [
                Conversation(clients, random.Random(seed * chains + number), watch)
                for number in range(chains)
            ]
            for _ in range(rounds):
                _round(made, server, watch)
            # whole again: nothing was killed since
            _turns(made, lambda _: None)
            for gateway in (one, other):
                if faults := gateway.metric("switchyard_internal_errors_total"):
                    watch.complain(f"{faults:g} internal errors")
    return watch


def _round(made: Sequence[Conversation], server: RedisServer, watch: Watch) -> None:
    total = TURNS * len(made)
    kill, start = int(total * KILL), int(total * START)

    def between(done: int) -> None:
        if done == kill:
            # counted first: a chain that begins now may be lost
            watch.count("kills")
            server.kill()
        elif done == start:
            server.start()

    _turns(made, between)


def _turns(made: Sequence[Conversation], after: Callable[[int], None]) -> None:
    """Let each conversation take its turns, and call ``after`` with the number of those done."""
    done = 0
    with ThreadPoolExecutor(THREADS) as threads:
        for _ in range(TURNS):
            for _ in threads.map(Conversation.turn, made):
                done += 1
                after(done)
