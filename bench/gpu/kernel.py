"""Checks and times the plug-in's masks on a device.

    python -m bench.gpu.kernel DEVICE WIDTH,... BATCH,... SECONDS      a line of JSON for each width

The server's interpreter runs this without a server. Buffers, copies, events and kernel are those of
the scheduler (adapters.sglang_plugin.mask_buffers).

Checks   *equal*: logits after ``apply`` on the device equal those that torch masks bit by bit on
         the processor. *in flight*: while the device is busy, many steps with different masks are
         queued, which reveals a buffer that is written before its copy is done.
Times    of the device by its events, of the host by its clock; the median of the runs that fit into
         SECONDS for each batch. The host's are times of queuing: the device is still working then.
"""

import json
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from statistics import median
from time import perf_counter
from typing import Any

import torch

from adapters.sglang_plugin.mask_buffers import MaskBuffers

from .device_kernel import device_kernel

#: shares of allowed tokens: in names and numbers; outside of strings in JSON; in strings
SHARES = {"few": 0.001, "half": 0.5, "most": 0.98}
#: steps queued at once, and cycles for which the device is busy before the first one
QUEUED, BUSY_CYCLES = 24, 200_000_000
#: maximum and minimum runs
MOST, LEAST = 1000, 5


def measure(device: str, width: int, batches: list[int], seconds: float) -> dict[str, Any]:
    """Records by batch and share of allowed tokens; ``findings``: differences."""
    on_gpu = device != "cpu"
    masks = MaskBuffers(can_pin=on_gpu, device_kernel=device_kernel)
    peer = _peer(device)
    records = []
    for batch in batches:
        logits = _logits(batch, width)
        for name, share in SHARES.items():
            bits = _bits(batch, width, share, seed=batch)
            record: dict[str, Any] = {"batch": batch, "allowed": name}
            record["equal"] = _is_equal(masks, logits, bits, device)
            record["us"] = _times(
                masks, logits.to(device, copy=True), bits, peer, seconds / len(SHARES)
            )
            records.append(record)
        if on_gpu:
            records[-1]["in_flight"] = _is_kept_in_flight(masks, width, batch, device)
    return {"width": width, "records": records, "findings": _findings(records, masks)}


def _findings(records: list[dict[str, Any]], masks: MaskBuffers) -> list[str]:
    found = [
        f"{check}: differs at batch {record['batch']}, {record['allowed']} allowed"
        for record in records
        for check in ("equal", "in_flight")
        if not record.get(check, True)
    ]
    return found + ([f"mask_failures: {masks.failures}"] if masks.failures else [])


# -- what is masked --------------------------------------------------------------------------------
def _logits(batch: int, width: int) -> torch.Tensor:
    """Return logits that include infinities and both zeros: a mask must not change them."""
    made = torch.randn(batch, width, generator=torch.Generator().manual_seed(batch))
    for number, value in enumerate((float("inf"), float("-inf"), 0.0, -0.0, 3e38)):
        made[:, number::97] = value
    return made


def _bits(batch: int, width: int, share: float, seed: int) -> torch.Tensor:
    """Return masks of random tokens; some rows allow all, none, or only the last token."""
    words = (width + 31) // 32
    random = torch.Generator().manual_seed(seed)
    allowed = torch.rand(batch, words * 32, generator=random) < share
    for first, (row, value) in enumerate(((0, True), (1, False), (2, False))):
        allowed[16 + first :: 32] = value
        if row == 2:
            allowed[16 + first :: 32, width - 1] = True
    weights = torch.tensor([1 << k for k in range(31)] + [-(1 << 31)], dtype=torch.int64)
    return (allowed.view(batch, words, 32) * weights).sum(2).to(torch.int32)


def _masked(logits: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Apply masks bit by bit, on the processor."""
    each = torch.arange(logits.shape[1])
    allowed = (bits[:, each // 32] >> (each % 32)) & 1
    return torch.where(allowed.bool(), logits, float("-inf"))


# -- checks ----------------------------------------------------------------------------------------
def _is_equal(masks: MaskBuffers, logits: torch.Tensor, bits: torch.Tensor, device: str) -> bool:
    found = logits.to(device, copy=True)
    masks.apply(found, _moved(masks, found, bits))
    same = found.cpu().view(torch.int32) == _masked(logits, bits).view(torch.int32)
    return bool(same.all())


def _is_kept_in_flight(masks: MaskBuffers, width: int, batch: int, device: str) -> bool:
    """Check that steps queued on a busy device use their own masks."""
    words = (width + 31) // 32
    logits = torch.zeros(batch, width, device=device)
    wanted = [torch.full((batch, words), number, dtype=torch.int32) for number in range(QUEUED)]
    torch.cuda.synchronize()
    torch.cuda._sleep(BUSY_CYCLES)
    found = [_moved(masks, logits, bits) for bits in wanted]
    torch.cuda.synchronize()
    return all(torch.equal(one.cpu(), bits) for one, bits in zip(found, wanted, strict=True))


def _moved(masks: MaskBuffers, logits: torch.Tensor, bits: torch.Tensor) -> torch.Tensor:
    """Run one step like the scheduler, without ``apply``."""
    mask = masks.allocate(logits.shape[1], logits.shape[0], logits.device)
    mask.copy_(bits)
    return masks.move(mask, logits.device)


# -- times -----------------------------------------------------------------------------------------
Peer = Callable[[torch.Tensor, torch.Tensor], None]


def _peer(device: str) -> Peer | None:
    """Return xgrammar's kernel; None: it is not installed."""
    try:
        import xgrammar
    except ImportError:
        return None
    backend: Any = "cpu" if device == "cpu" else "triton"
    return lambda logits, mask: xgrammar.apply_token_bitmask_inplace(logits, mask, backend=backend)


def _times(
    masks: MaskBuffers, logits: torch.Tensor, bits: torch.Tensor, peer: Peer | None, seconds: float
) -> dict[str, float]:
    """Return median microseconds by call: of the host, and on a GPU also of the device."""
    mask = masks.allocate(logits.shape[1], logits.shape[0], logits.device)
    mask.copy_(bits)
    moved = masks.move(mask, logits.device)
    calls: dict[str, Callable[[], object]] = {"apply": lambda: masks.apply(logits, moved)}
    if peer is not None:
        calls["xgrammar apply"] = lambda: peer(logits, moved)
    if not logits.is_cpu:
        # an allocation that is not copied would keep its buffer
        shape = (logits.shape[1], logits.shape[0], logits.device)
        calls["allocate, move"] = lambda: masks.move(masks.allocate(*shape), logits.device)
    timed = _timed if logits.is_cpu else _timed_on_device
    found: dict[str, float] = {}
    for name, call in calls.items():
        call()  # compile kernels at the first call
        runs = list(timed(call, seconds / len(calls)))
        for place in runs[0]:
            found[f"{name}, {place}"] = median(run[place] for run in runs)
    return found


def _timed(call: Callable[[], object], seconds: float) -> Iterator[dict[str, float]]:
    until = perf_counter() + seconds
    for number in range(MOST):
        start = perf_counter()
        call()
        end = perf_counter()
        yield {"host": 1e6 * (end - start)}
        if end > until and number >= LEAST:
            return


def _timed_on_device(call: Callable[[], object], seconds: float) -> Iterator[dict[str, float]]:
    until = perf_counter() + seconds
    before, after = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for number in range(MOST):
        torch.cuda.synchronize()
        before.record()
        start = perf_counter()
        call()
        end = perf_counter()
        after.record()
        after.synchronize()
        yield {"host": 1e6 * (end - start), "device": 1e3 * before.elapsed_time(after)}
        if end > until and number >= LEAST:
            return


def main() -> None:
    device, widths, batches, seconds = sys.argv[1:]
    for width in widths.split(","):
        with redirect_stdout(sys.stderr):
            told = measure(device, int(width), [int(n) for n in batches.split(",")], float(seconds))
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
