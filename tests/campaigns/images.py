"""Hostile images: how long the event loop stalls while they are read, and the memory they take.

    python -m tests.campaigns.images [--repeats 3] [--only NAME]

The largest files and claims that the default limits allow, and those just beyond. Prints a row for
each, and leaves with 1 if the loop stalled longer than MAX_STALL_S in every repeat, or a row took
more than MAX_BYTES.
"""

import argparse
import asyncio
import os
import sys
import time
import zlib
from base64 import b64encode
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import NamedTuple

from PIL import Image

from app.concurrency import Offload
from app.generation import Media
from app.images import ImageLoader
from app.images.image_header import MAX_SCANS
from app.settings import GatewaySettings
from tests.app.images import files

MEBIBYTE = 1 << 20
SETTINGS = GatewaySettings()
#: a square of the most pixels that are allowed
SIDE = int(SETTINGS.max_image_pixels**0.5)
#: the goal for one stall of the event loop
MAX_STALL_S = 0.05
#: 8 bytes a pixel, three times the file and its Base64, and a margin of what Python keeps
MAX_BYTES = 8 * SETTINGS.max_image_pixels + 8 * SETTINGS.max_image_bytes + 64 * MEBIBYTE
#: seconds between two looks at the loop
TICK_S = 0.001


class Row(NamedTuple):
    """A case: results by number, seconds, the shortest of the longest stalls, bytes at the peak."""

    name: str
    results: dict[str, int]
    seconds: float
    stall_s: float
    taken: int


def noise(size: int) -> bytes:
    return Random(0).randbytes(size)


def large_png(mode: str) -> bytes:
    return files.saved(Image.new(mode, (SIDE, SIDE)), "PNG", compress_level=1)


def noisy(kind: str, side: int, **options: object) -> bytes:
    return files.saved(
        Image.frombytes("RGB", (side, side), noise(3 * side * side)), kind, **options
    )


def many_scans() -> bytes:
    """A progressive JPEG of the most pixels and scans, of which all but a few are repeated."""
    file = files.saved(Image.new("RGB", (SIDE, SIDE)), "JPEG", progressive=True)
    last = file.rindex(b"\xff\xda")
    scans = MAX_SCANS - file.count(b"\xff\xda")
    return file[:-2] + file[last:-2] * scans + file[-2:]


def many_frames() -> bytes:
    file = files.picture("GIF")
    frame = file[file.index(b"\x2c\0\0\0\0") : -1]
    return file[:-1] + frame * ((SETTINGS.max_image_bytes - len(file)) // len(frame)) + b";"


CASES: dict[str, Callable[[], list[bytes]]] = {
    "no image": lambda: [noise(SETTINGS.max_image_bytes)],
    "too many bytes": lambda: [noise(SETTINGS.max_image_bytes + 1)],
    "PNG, noise": lambda: [noisy("PNG", 2_600, compress_level=1)],
    "PNG, RGBA, most pixels": lambda: [large_png("RGBA")],
    "PNG, 30,000 x 30,000": lambda: [
        files.png(width=30_000, height=30_000, rows=zlib.compress(bytes(10**8), 9))
    ],
    "PNG, tiny chunks": lambda: [files.png(*[files.chunk(b"teXt", b"")] * 1_700_000)],
    "PNG, texts": lambda: [
        files.png(*[files.chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(MEBIBYTE - 1), 9))] * 63)
    ],
    "JPEG, most pixels": lambda: [files.saved(Image.new("RGB", (SIDE, SIDE)), "JPEG")],
    "JPEG, noise": lambda: [noisy("JPEG", 3_800, quality=90)],
    "JPEG, progressive noise": lambda: [noisy("JPEG", 3_800, quality=90, progressive=True)],
    "JPEG, most scans": lambda: [many_scans()],
    "JPEG, EXIF": lambda: [files.jpeg_with(*[files.exif_bomb()] * 300)],
    "WEBP, noise": lambda: [noisy("WEBP", 2_600, lossless=True, quality=0, method=0)],
    "WEBP, most decoded pixels": lambda: [files.saved(Image.new("RGB", (4_000, 2_000)), "WEBP")],
    "WEBP, most pixels": lambda: [files.saved(Image.new("RGB", (SIDE, SIDE)), "WEBP", method=0)],
    "GIF, most pixels": lambda: [files.saved(Image.new("P", (SIDE, SIDE)), "GIF")],
    "GIF, tiny blocks": lambda: [b"GIF89a\x08\0\x06\0\0\0\0!\xfe" + b"\1x" * 9_000_000],
    "GIF, frames": lambda: [many_frames()],
    "1,000 parts": lambda: [files.picture("PNG", 1 + n % 40, 1 + n // 40) for n in range(1_000)],
}  # fmt: skip


def resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


async def watched(stopping: asyncio.Event) -> tuple[float, int]:
    """Return the longest stall in seconds and the peak of resident bytes until ``stopping``."""
    stall, peak, last, number = 0.0, 0, time.perf_counter(), 0
    while not stopping.is_set():
        await asyncio.sleep(TICK_S)
        now = time.perf_counter()
        stall, last, number = max(stall, now - last - TICK_S), now, number + 1
        if number % 5 == 0:
            peak = max(peak, resident_bytes())
    return stall, peak


async def measured(urls: Sequence[str]) -> tuple[dict[str, int], float, float, int]:
    """Return results, seconds, longest stall and bytes taken of one request with these images."""
    results: dict[str, int] = {}

    def count(result: str) -> None:
        results[result] = results.get(result, 0) + 1

    offload, before = Offload(), resident_bytes()
    loader = ImageLoader(
        offload,
        max_bytes=SETTINGS.max_image_bytes,
        max_pixels=SETTINGS.max_image_pixels,
        memory_bytes=SETTINGS.images_memory_bytes,
        on_result=count,
    )
    media = [Media("image_url", f"messages[0].content[{n}]", url=url) for n, url in enumerate(urls)]
    stopping = asyncio.Event()
    watching = asyncio.create_task(watched(stopping))
    await asyncio.sleep(5 * TICK_S)
    start = time.perf_counter()
    await loader.load(media, "client")
    seconds = time.perf_counter() - start
    stopping.set()
    stall, peak = await watching
    offload.close()
    return results, seconds, stall, peak - before


def row_of(name: str, repeats: int) -> Row:
    urls = ["data:image/png;base64," + b64encode(file).decode() for file in CASES[name]()]
    runs = [asyncio.run(measured(urls)) for _ in range(repeats)]
    return Row(
        name,
        runs[0][0],
        min(run[1] for run in runs),
        min(run[2] for run in runs),
        max(run[3] for run in runs),
    )


def complaints(row: Row) -> list[str]:
    wrong = []
    if row.stall_s > MAX_STALL_S:
        wrong.append(f"{row.name}: the loop stalled {row.stall_s:.3f} s, more than {MAX_STALL_S}")
    if row.taken > MAX_BYTES:
        wrong.append(f"{row.name}: {row.taken:,} bytes, more than {MAX_BYTES:,}")
    return wrong


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--only", choices=CASES)
    chosen = parser.parse_args()
    wrong = []
    print(f"{'case':<28}{'seconds':>8}{'stall ms':>10}{'MiB':>6}  results")
    for name in [chosen.only] if chosen.only else CASES:
        row = row_of(name, chosen.repeats)
        print(
            f"{name:<28}{row.seconds:>8.2f}{row.stall_s * 1e3:>10.1f}{row.taken / MEBIBYTE:>6.0f}"
            f"  {row.results}",
            flush=True,
        )
        wrong += complaints(row)
    print("\n".join(wrong) or "no finding")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
