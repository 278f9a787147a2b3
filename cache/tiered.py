"""Stores in a row, nearest first: what a far one has is put into the nearer ones on the way back.

Invariants  I1 a layer is asked only for what all nearer ones missed, once per distinct key.
            I2 what comes from a layer is put into every nearer one and into no farther one.
            I3 a key is claimed in all layers or in none.
Threads     as its layers; it holds no state of its own.
Not here    when to stop asking a slow layer (redis_store).
"""

from collections.abc import Sequence
from time import monotonic
from typing import Protocol


class Layer(Protocol):
    """What a store must offer to stand in a row. ``name``: what people call it."""

    @property
    def name(self) -> str: ...

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]: ...
    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]: ...
    def used(self, keys: Sequence[bytes]) -> None: ...
    def may_have(self, key: bytes) -> bool: ...
    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None: ...
    def hottest(self, group: bytes, most: int) -> list[bytes]: ...
    def claim(
        self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False
    ) -> list[bool]: ...
    def release(self, keys: Sequence[bytes]) -> None: ...
    def stats(self) -> dict[str, int]: ...
    def flush(self, timeout_s: float) -> bool: ...
    def close(self) -> None: ...


class TieredStore:
    """``layers`` from the nearest to the farthest. It owns them: closing it closes them."""

    def __init__(self, layers: Sequence[Layer]) -> None:
        if not layers:
            raise ValueError("a tiered store needs at least one layer")
        self._layers = tuple(layers)

    def get_many(self, keys: Sequence[bytes], *, urgent: bool = True) -> list[bytes | None]:
        """The values of ``keys`` in their order, None for each that no layer has."""
        found: dict[bytes, bytes] = {}
        missing = list(dict.fromkeys(keys))
        for depth, layer in enumerate(self._layers):
            if not missing:
                break
            answers = zip(missing, layer.get_many(missing, urgent=urgent), strict=True)
            fresh = [(key, value) for key, value in answers if value is not None]
            if not fresh:
                continue
            for nearer in self._layers[:depth]:
                nearer.put_many(fresh)
            found.update(fresh)
            missing = [key for key in missing if key not in found]
        return [found.get(key) for key in keys]

    def get_newest(self, keys: Sequence[bytes], *, urgent: bool = False) -> list[bytes | None]:
        """What the farthest layer has that knows the key: the farther, the more others write there.

        A near one is asked all the same for what the farthest lost, or can't be asked for now.
        """
        found: dict[bytes, bytes | None] = dict.fromkeys(keys)
        for layer in reversed(self._layers):
            missing = [key for key, value in found.items() if value is None]
            if not missing:
                break
            found.update(zip(missing, layer.get_newest(missing, urgent=urgent), strict=True))
        return [found[key] for key in keys]

    def used(self, keys: Sequence[bytes]) -> None:
        """They are used in every layer."""
        for layer in self._layers:
            layer.used(keys)

    def may_have(self, key: bytes) -> bool:
        """Whether any layer may have it."""
        return any(layer.may_have(key) for layer in self._layers)

    def put_many(self, items: Sequence[tuple[bytes, bytes]]) -> None:
        """Put every pair into every layer."""
        for layer in self._layers:
            layer.put_many(items)

    def hottest(self, group: bytes, most: int) -> list[bytes]:
        """What the farthest layer names, then what nearer ones add: the farther, the more have used
        what it names.
        """
        found: dict[bytes, None] = {}
        for layer in reversed(self._layers):
            if len(found) < most:
                found.update(dict.fromkeys(layer.hottest(group, most)))
        return list(found)[:most]

    def claim(self, keys: Sequence[bytes], seconds: float, *, urgent: bool = False) -> list[bool]:
        """True for each key that every layer grants; see ``leases``."""
        granted = dict.fromkeys(keys, True)
        for depth, layer in enumerate(self._layers):
            asked = [key for key, may in granted.items() if may]
            if not asked:
                break
            answers = zip(asked, layer.claim(asked, seconds, urgent=urgent), strict=True)
            denied = [key for key, may in answers if not may]
            for nearer in self._layers[:depth] if denied else ():
                nearer.release(denied)
            granted.update(dict.fromkeys(denied, False))
        return [granted[key] for key in keys]

    def release(self, keys: Sequence[bytes]) -> None:
        """Give back what was claimed, in every layer."""
        for layer in self._layers:
            layer.release(keys)

    def stats(self) -> dict[str, int]:
        """Every layer's numbers, with l1_, l2_, ... before their names."""
        return {
            f"l{depth}_{name}": number
            for depth, layer in enumerate(self._layers, start=1)
            for name, number in layer.stats().items()
        }

    def tiers(self) -> list[tuple[str, dict[str, int]]]:
        """Every layer's name and numbers, nearest first."""
        return [(layer.name, layer.stats()) for layer in self._layers]

    def flush(self, timeout_s: float) -> bool:
        """Wait until every layer has written what was put so far, or has given it up; False if that
        took longer.
        """
        until = monotonic() + timeout_s
        late = [not layer.flush(max(0.0, until - monotonic())) for layer in self._layers]
        return not any(late)

    def close(self) -> None:
        """Close the layers, farthest first."""
        for layer in reversed(self._layers):
            layer.close()
