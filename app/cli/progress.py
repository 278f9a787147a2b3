"""How far a long command is: a bar on a terminal, a line now and then elsewhere."""

from collections.abc import Iterator, Sequence
from typing import TextIO, TypeVar

from tqdm import tqdm

Item = TypeVar("Item")

#: lines where there is no terminal
LINES = 10


def with_progress(items: Sequence[Item], what: str, out: TextIO) -> Iterator[Item]:
    """The items, while ``out`` shows how many are done."""
    if out.isatty():
        yield from tqdm(items, desc=what, file=out, unit="", dynamic_ncols=True)
        return
    step = max(1, -(-len(items) // LINES))
    for number, item in enumerate(items, start=1):
        yield item
        if number % step == 0 or number == len(items):
            print(f"{what}: {number:,} of {len(items):,}", file=out, flush=True)
