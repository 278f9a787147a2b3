"""Cache namespaces: caches of one vocabulary that share nothing, for tenants that may not observe
each other.

A cached grammar answers faster, and so do masks that other grammars share. A tenant could therefore
measure whether another one has used a schema. Each namespace has caches of its own; "" is the one
that all share. The namespace of a request is the beginning of its spec's text, so that two
namespaces have different keys wherever the text is a key:

    {"namespace":"<32 hex digits>","type":"structural_tag",...}

Invariants   I1 at most ``most`` namespaces besides the shared one are kept; the least recently used
                one is dropped. Its grammars live on while requests use them.
             I2 a namespace is made once, however many threads need it.
Threads      any. ``kept`` never waits for a namespace that is being made; ``of`` does.
Not here     what decides the namespace of a request (the gateway).
"""

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Final, Generic, TypeVar

Caches = TypeVar("Caches")

_FIELD: Final = '{"namespace":"'
_NAME: Final = re.compile(r'\{"namespace":"([0-9a-f]{32})",')


def namespace_of(client: str) -> str:
    """Return the namespace of a client: a hash of its id, which workers and logs may see.

    It leaves out the model and the vocabulary: each vocabulary has namespaces of its own.
    """
    return sha256(b"switchyard cache namespace\0" + client.encode()).hexdigest()[:32]


def with_namespace(text: str, name: str) -> str:
    """Return the JSON text of an object, with the namespace in front; "": as it is."""
    return f'{_FIELD}{name}",{text[1:]}' if name else text


def split_namespace(text: str) -> tuple[str, str]:
    """Return the namespace of a spec, and its text without it."""
    match = _NAME.match(text)
    return (match[1], "{" + text[match.end() :]) if match else ("", text)


class Namespaces(Generic[Caches]):
    """See the file's header.

    Args:
        shared: the caches of the namespace "".
        make: returns new caches; it may take a second for a large vocabulary.
        most: the maximum of kept namespaces; 0: every name stands for the shared caches.
    """

    def __init__(self, shared: Caches, make: Callable[[], Caches], *, most: int) -> None:
        self.shared = shared
        self.most = most
        self._make = make
        self._kept: OrderedDict[str, Caches] = OrderedDict()
        self._guard, self._making = threading.Lock(), threading.Lock()
        self._counts = {"made": 0, "dropped": 0}

    @classmethod
    def one(cls, shared: Caches) -> "Namespaces[Caches]":
        """Return the shared caches alone."""
        return cls(shared, lambda: shared, most=0)

    def kept(self, name: str) -> Caches | None:
        """Return the caches of a namespace; None: they are not made yet."""
        if not name or not self.most:
            return self.shared
        with self._guard:
            caches = self._kept.get(name)
            if caches is not None:
                self._kept.move_to_end(name)
            return caches

    def of(self, name: str) -> Caches:
        """Return the caches of a namespace, made if needed."""
        caches = self.kept(name)
        if caches is not None:
            return caches
        with self._making:
            caches = self.kept(name)
            if caches is not None:
                return caches
            caches = self._make()
            with self._guard:
                self._kept[name] = caches
                self._counts["made"] += 1
                if len(self._kept) > self.most:
                    self._kept.popitem(last=False)
                    self._counts["dropped"] += 1
            return caches

    def __iter__(self) -> Iterator[Caches]:
        """Yield all caches, the shared ones first."""
        with self._guard:
            caches = [self.shared, *self._kept.values()]
        return iter(caches)

    def stats(self) -> dict[str, int]:
        """Return the numbers of namespaces kept, made and dropped."""
        with self._guard:
            return {"namespaces": len(self._kept)} | {
                f"namespaces_{name}": count for name, count in self._counts.items()
            }
