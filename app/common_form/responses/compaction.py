"""A compacted conversation: a short text in place of answers, calls and results.

    user: Wake me.
    call set_alarm: {"hour": 7}
    result: done
    assistant: You will be woken at seven.

No model writes it: long texts lose their middle, and a long conversation its beginning. Messages of
users, and instructions, are kept whole beside the text.

Invariants   I1 only this server begins a line without an indent: a result with line ends cannot
                pass for a message of the user.
"""

from collections.abc import Callable, Iterable, Iterator

from ...protocol import (
    CompactionItem,
    ContentItem,
    CustomCallItem,
    CustomCallOutputItem,
    FunctionCallItem,
    FunctionCallOutputItem,
    MessageItem,
    item_text,
)

#: characters of one text, and of one that is kept elsewhere
TEXT_CHARS, KEPT_CHARS = 1_000, 100
#: characters of all lines: about 8,000 tokens, a part of every context that is worth compacting
MAX_CHARS = 32_000

_HEAD = "The conversation so far, shortened:\n"
_CUT = "[the beginning is left out]\n"


def is_kept(item: ContentItem) -> bool:
    """Whether an item stays as it is."""
    return isinstance(item, MessageItem) and item.role != "assistant"


def transcript(
    items: Iterable[ContentItem],
    flat: Callable[[str | None, str], str],
    unseal: Callable[[str], str | None],
) -> str:
    """Return the items as one text. ``flat``: the name of a tool in prompts. ``unseal``: returns
    the text of an earlier compaction; None: this server did not seal it.
    """
    text = "\n".join(_lines(items, flat, unseal))
    if len(text) > MAX_CHARS:
        text = _CUT + text[-MAX_CHARS:].partition("\n")[2]
    return _HEAD + text


def _lines(
    items: Iterable[ContentItem],
    flat: Callable[[str | None, str], str],
    unseal: Callable[[str], str | None],
) -> Iterator[str]:
    for item in items:
        match item:
            case MessageItem():
                most = KEPT_CHARS if is_kept(item) else TEXT_CHARS
                yield f"{item.role}: {_short(item_text(item.content), most)}"
            case FunctionCallItem():
                yield f"call {flat(item.namespace, item.name)}: {_short(item.arguments)}"
            case CustomCallItem():
                yield f"call {flat(item.namespace, item.name)}: {_short(item.input)}"
            case FunctionCallOutputItem() | CustomCallOutputItem():
                yield f"result: {_short(item_text(item.output))}"
            case CompactionItem():
                earlier = unseal(item.encrypted_content)
                if earlier is not None:
                    yield earlier.removeprefix(_HEAD)


def _short(text: str, most: int = TEXT_CHARS) -> str:
    """Return a text without its middle, if it is longer than ``most`` characters; its lines after
    the first one are indented.
    """
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]} [{len(text) - 2 * half:,} characters] {text[-half:]}"
    return "\n  ".join(text.splitlines())
