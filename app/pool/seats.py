"""Seats: the places of a worker where a generation runs.

A worker has one seat, or one for each of its data-parallel ranks: schedulers with a KV cache each
behind one address. A policy picks among the seats of all workers, so that a conversation meets the
rank that has its prompt.

Invariants   I1 a worker has at least one seat. An only one names no rank: the worker chooses.
             I2 ``running`` is the number of open generations that went to the seat. Those of a rank
                that has gone end on a seat that is no candidate any more.
Not here     health, circuit and bound, which are the worker's (member); which seat gets a
             generation (policies).
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .member import Member


class Seat:
    """See the file's header. ``rank``: None for an only seat."""

    __slots__ = ("member", "name", "rank", "running")

    def __init__(self, member: "Member", rank: int | None = None) -> None:
        self.member = member
        self.name = member.name if rank is None else f"{member.name}#{rank}"
        self.rank = rank
        self.running = 0

    def take(self) -> None:
        """Count a generation that begins."""
        self.running += 1
        self.member.take()

    def release(self) -> None:
        """Count a generation that ends."""
        self.running -= 1
        self.member.release()


def seats_of(member: "Member", ranks: int, before: tuple[Seat, ...] = ()) -> tuple[Seat, ...]:
    """Return the seats of a worker with so many ranks; those of the same ranks stay."""
    if ranks == 1:
        return before if len(before) == 1 else (Seat(member),)
    kept = before[:ranks] if len(before) > 1 else ()
    return (*kept, *(Seat(member, rank) for rank in range(len(kept), ranks)))
