"""Results of parallel calls in any order: each follows its call in the prompt.

    python -m tests.campaigns.result_order [--conversations 1000] [--seed 0]

Conversations of several turns with one to five calls an answer, some with equal names and
arguments, and results in a random order; some results are lost, some have a message of the user
between them. Each is rendered with every chat template, and by every format that writes prompts
itself: the results must follow in the order of their calls, with a note for a lost one. Needs `make
data`. Exits with 1 on a finding.
"""

import json
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from random import Random
from typing import Any

from adapters.formats import FORMATS, OutputSpec, Tool
from app.common_form import common_chat
from app.conversation.history import plain_messages
from app.conversation.pairing import NO_RESULT, paired
from app.errors import ApiError
from tests.app.bodies import parse_request
from tests.app.conversation.chat_templates import TEMPLATES, tokenizer_of
from tests.campaigns.template_command import Report, main

TOOLS = tuple(Tool(name, {"type": "object", "properties": {}}) for name in ("weather", "time"))
Messages = list[dict[str, Any]]


def conversation(draws: Random) -> tuple[Messages, list[str]]:
    """Return messages, and the results that the prompt must show, in this order."""
    messages: Messages = [{"role": "user", "content": "Question?"}]
    number = 0
    shown: list[str] = []
    for _ in range(draws.randint(1, 3)):
        calls, results = [], []
        is_equal = draws.random() < 0.2
        for at in range(draws.randint(1, 5)):
            label = f"argument{number - at if is_equal else number}end"
            function = {
                "name": "weather" if is_equal else draws.choice(TOOLS).name,
                "arguments": json.dumps({"city": label}),
            }
            # later turns use the ids of earlier ones again
            calls.append({"id": f"call_{at}", "type": "function", "function": function})
            text = f"result{number}end"
            results.append({"role": "tool", "tool_call_id": f"call_{at}", "content": text})
            number += 1
        is_lost = draws.random() < 0.05
        if is_lost:
            results[draws.randrange(len(results))]["content"] = ""
        shown += [result["content"] or NO_RESULT for result in results]
        results = [result for result in results if result["content"]]
        draws.shuffle(results)
        if results and draws.random() < 0.1:
            results.insert(draws.randrange(len(results)), {"role": "user", "content": "Meanwhile"})
        messages += [{"role": "assistant", "content": None, "tool_calls": calls}, *results]
        if draws.random() < 0.5:
            messages += [
                {"role": "assistant", "content": "An answer."},
                {"role": "user", "content": "And now?"},
            ]
    return messages, shown


def plain(messages: Messages) -> Messages:
    """Return the messages as prompts get them, checked as those of a request."""
    request = parse_request(json.dumps({"model": "m", "messages": messages}).encode())
    return paired(plain_messages(common_chat(request).messages)).messages


def writers() -> Iterator[tuple[str, Callable[[Messages], str]]]:
    """Yield chat templates and formats, as functions that write a prompt."""
    output = OutputSpec(TOOLS)

    def templated(name: str, messages: Messages) -> str:
        tokenizer = tokenizer_of(name)
        ids = tokenizer.render(messages, TOOLS, output).prompt
        assert isinstance(ids, list)
        return tokenizer.decode(ids)

    for name in TEMPLATES:
        yield name, partial(templated, name)
    for name, wire in FORMATS.items():
        yield f"format {name}", partial(wire.render, tools=TOOLS, output=output)


def complaint(prompt: str, wanted: Sequence[str]) -> str:
    """Return what is wrong with the order of results in a prompt; "": nothing."""
    shown = re.findall(rf"result\d+end|{re.escape(NO_RESULT)}", prompt)
    if shown == list(wanted):
        return ""
    return f"results {' '.join(shown)} instead of {' '.join(wanted)}"


def run(count: int, seed: int, only: Sequence[str] | None = None) -> Report:
    """Write so many conversations with each writer. ``only``: names of writers."""
    chosen = [(name, write) for name, write in writers() if only is None or name in only]
    prompts, findings = 0, []
    for number in range(count):
        messages, wanted = conversation(Random(f"{seed} {number}"))
        try:
            given = plain(messages)
        except ApiError as error:
            findings.append(f"{number}: refused: {error.message}")
            continue
        for name, write in chosen:
            prompts += 1
            try:
                problem = complaint(write(given), wanted)
            except ApiError as error:
                problem = error.message
            if problem:
                findings.append(f"{number}: {name}: {problem}")
    return Report({"conversations": count, "prompts": prompts}, findings)


if __name__ == "__main__":
    sys.exit(main("result_order", __doc__, unit="conversations", number=1000, run=run))
