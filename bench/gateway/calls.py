"""A tool call: the tool of a request, and the answer of the worker that calls it.

Switchyard's worker sends tokens, and the gateway finds the call in their text (Hermes). Proxies get
what a server sends whose own parser finds the same call: chunks of a chat completion.
"""

from typing import Any, NamedTuple

from app.conversation.tokenizer import Tokenizer

NAME = "send_note"
PROPERTIES = {"to": {"type": "string"}, "text": {"type": "string"}}
PARAMETERS = {"type": "object", "properties": PROPERTIES, "required": ["to", "text"]}
TOOLS = [{"type": "function", "function": {"name": NAME, "parameters": PARAMETERS}}]

HEAD, TAIL = '{"to": "Ann", "text": "', '"}'
#: repeated until the call has enough tokens
WORDS = "Take the tram, not the bus, and wear warm shoes. "


class Call(NamedTuple):
    """``opening``: number of the tokens up to the name's end."""

    tokens: list[int]
    opening: int
    arguments: str


def call_of(tokenizer: Tokenizer, count: int) -> Call:
    """Return a call of ``count`` tokens.

    Raises:
        ValueError: a call takes more tokens.
    """

    def ids(text: str) -> list[int]:
        return tokenizer.encode(text, add_special_tokens=False)

    opening, begin = ids(f'<tool_call>\n{{"name": "{NAME}"'), ids(f', "arguments": {HEAD}')
    words, end = ids(WORDS), [*ids(TAIL), *ids("}\n</tool_call>")]
    free = count - len(opening) - len(begin) - len(end)
    if free < 0:
        raise ValueError(f"a call takes {count - free} tokens or more, got {count}")
    note = (words * (free // len(words) + 1))[:free]
    arguments = f"{HEAD}{tokenizer.decode(note)}{TAIL}"
    return Call([*opening, *begin, *note, *end], len(opening), arguments)


def call_deltas(call: Call) -> list[dict[str, Any] | None]:
    """Return the delta of a chat completion for each token, and one for the stop token.

    None: there is nothing to send. A parser must wait for the name, and so must the gateway.
    """
    first = {"index": 0, "id": "call_x", "type": "function"}
    first["function"] = {"name": NAME, "arguments": ""}
    found: list[dict[str, Any] | None] = [{"role": "assistant", "content": ""}]
    found += [None] * (call.opening - 2)
    found.append({"tool_calls": [first]})
    text, parts = call.arguments, len(call.tokens) - call.opening
    for number in range(parts):
        begin, end = (len(text) * n // parts for n in (number, number + 1))
        found.append({"tool_calls": [{"index": 0, "function": {"arguments": text[begin:end]}}]})
    return [*found, {}]
