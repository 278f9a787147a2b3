from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from typing import Any

class TokenSet:
    def __init__(self, ids: Iterable[int]) -> None: ...
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[int]: ...
    def __contains__(self, token: object) -> bool: ...

class Vocabulary:
    tokens: list[bytes]
    size: int
    words: int
    stop_token_ids: tuple[int, ...]
    special_token_ids: tuple[int, ...]
    encode: Callable[[str], Sequence[int]] | None
    fingerprint: str
    max_token_bytes: int
    def __init__(
        self,
        tokens: Iterable[bytes],
        *,
        stop_token_ids: Collection[int],
        special_token_ids: Collection[int] = (),
        encode: Callable[[str], Sequence[int]] | None = None,
    ) -> None: ...
    @classmethod
    def from_huggingface(
        cls,
        tokenizer: Any,
        *,
        stop_token_ids: Collection[int] | None = None,
        size: int | None = None,
    ) -> Vocabulary: ...
    @property
    def trie_nodes(self) -> int: ...
    def special_texts(self) -> dict[str, int]: ...
