"""A compacted conversation: a short text in place of answers, calls and results.

    user: Wake me.
    call set_alarm: {"hour": 7}
    result: done
    assistant: You will be woken at seven.

No model writes it: long texts lose their middle, and a long conversation its beginning. Messages of
users, instructions, tools and settings are kept whole beside the text.

Invariants   I1 only this server begins a line without an indent: a result with line ends cannot
                pass for a message of the user.
"""

from collections.abc import Iterable, Iterator

from ...generation import Call, Media, Message, Thought
from ...protocol import ConfigurationItem, ContentItem, LoadedToolsItem, MessageItem

#: characters of one text, and of one that is kept elsewhere
TEXT_CHARS, KEPT_CHARS = 1_000, 100
#: characters of all lines: about 8,000 tokens, a part of every context that is worth compacting
MAX_CHARS = 32_000

_HEAD = "The conversation so far, shortened:\n"
_CUT = "[the beginning is left out]\n"


def is_kept(item: ContentItem) -> bool:
    """Whether an item stays as it is."""
    if isinstance(item, MessageItem):
        return item.role != "assistant"
    return isinstance(item, ConfigurationItem | LoadedToolsItem)


def transcript(messages: Iterable[Message]) -> str:
    """Return a conversation as one text; that of an earlier compaction is a part of it."""
    text = "\n".join(line for message in messages for line in _lines(message))
    if len(text) > MAX_CHARS:
        text = _CUT + text[-MAX_CHARS:].partition("\n")[2]
    return _HEAD + text


def _lines(message: Message) -> Iterator[str]:
    label = "result" if message.role == "tool" else message.role
    most = TEXT_CHARS if message.role in ("assistant", "tool") else KEPT_CHARS
    for part in message.parts:
        if isinstance(part, Call):
            yield f"call {part.name}: {_short(part.arguments)}"
        elif isinstance(part, Thought):
            continue
        elif isinstance(part, Media):
            yield f"{label}: {_named(part)}"
        elif message.role == "user" and part.text.startswith(_HEAD):
            yield part.text.removeprefix(_HEAD)
        else:
            yield f"{label}: {_short(part.text, most)}"


def _named(media: Media) -> str:
    """Return the line of media: [image], or [file report.pdf]."""
    kind = media.kind.removeprefix("input_").removesuffix("_url")
    return f"[{kind} {_short(media.title, KEPT_CHARS)}]" if media.title else f"[{kind}]"


def _short(text: str, most: int = TEXT_CHARS) -> str:
    """Return a text without its middle, if it is longer than ``most`` characters; its lines after
    the first one are indented.
    """
    if len(text) > most:
        half = most // 2
        text = f"{text[:half]} [{len(text) - 2 * half:,} characters] {text[-half:]}"
    return "\n  ".join(text.splitlines())
