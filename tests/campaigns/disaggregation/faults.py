"""How a worker of one half can be bad.

Representation   ``FAULTS``: by the half and a name, those of any worker (tests/campaigns/workers),
                 and those that concern the other half.
"""

from typing import Any, cast

from adapters.workers import Half
from tests.campaigns.workers import faults
from tests.campaigns.workers.fake import Fault, Reply

from .halves import FILLED, FakeHalf


def _half(reply: Reply) -> FakeHalf:
    return cast(FakeHalf, reply.worker)


async def _fail(reply: Reply, words: str) -> None:
    """End as SGLang does when the transfer or what comes before it fails."""
    message = f"{words} failed for request rank=0 with exception KVTransferError: no"
    finish: Any = {"type": "abort", "message": message, "status_code": 500}
    await reply.begin()
    await reply.event(reply.state([], finish))
    await reply.piece(b"data: [DONE]\n\n")
    await reply.end()


async def _bootstrap_fails(reply: Reply) -> None:
    await _fail(reply, "Prefill bootstrap")


async def _transfer_fails(reply: Reply) -> None:
    await _fail(reply, "Prefill transfer")


async def _ends_without_transfer(reply: Reply) -> None:
    await reply.begin()
    await reply.event(reply.state(reply.ids[:1], FILLED))
    await reply.piece(b"data: [DONE]\n\n")
    await reply.end()


async def _dies_after_transfer(reply: Reply) -> None:
    await _half(reply).fill(reply)


async def _handshake_fails(reply: Reply) -> None:
    await _fail(reply, "Decode handshake")


async def _loses_transfer(reply: Reply) -> None:
    await _half(reply).arrive(reply)
    await _fail(reply, "Decode transfer")


async def _never_begins(reply: Reply) -> None:
    await _half(reply).arrive(reply)
    await faults.hang(reply)


OF_HALVES: dict[Half, list[Fault]] = {
    "prefill": [
        Fault("bootstrap fails", "before", _bootstrap_fails),
        Fault("transfer fails", "before", _transfer_fails),
        Fault("ends without transfer", "before", _ends_without_transfer),
        Fault("dies after transfer", "before", _dies_after_transfer),
    ],
    "decode": [
        Fault("handshake fails", "before", _handshake_fails),
        Fault("loses the transfer", "before", _loses_transfer),
        Fault("never begins", "before", _never_begins),
    ],
}
#: a prefill worker has no middle of an answer
FAULTS: dict[tuple[Half, str], Fault] = {
    (half, fault.name): fault
    for half, own in OF_HALVES.items()
    for fault in [*own, *faults.FAULTS.values()]
    if half == "decode" or fault.when != "mid"
}
