"""Random requests in a neutral form, which each API can write in its own words (bodies)."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Literal

from tests.app.examples import ALARM, LIGHT
from tests.conformance.schemas import SchemaMaker

TEXTS = ("Wake me.", "é漢😀", 'Say "hi".\n', "", "Answer in JSON.", "<tool_call>", "x " * 40)
NAMES = ("set_alarm", "set_light", "mcp__files__read", "look-up", "f")
ARGUMENTS: tuple[dict[str, Any], ...] = (
    {"on": True},
    {},
    {"hour": 7, "sound": 'é\n"quoted"', "more": [1, None, {"a": 0.5}]},
    {"path": "/data/x.txt", "limit": 12345678901234567890},
)
STOPS = ("e", "a", " the", "\n", "zzzz")

SAMPLING: tuple[Mapping[str, float], ...] = (
    *({}, {}),
    *({"temperature": 0.5, "top_p": 0.9}, {"top_k": 3}),
)

Choice = Literal["", "auto", "none", "required", "named", "allowed"]
Thinking = Literal["", "off", "on", "effort", "budget"]


@dataclass(frozen=True, slots=True)
class Picture:
    """An image of one pixel; its number is its colour."""

    number: int


#: a part of a message of the user, or of a result
Part = str | Picture


@dataclass(frozen=True, slots=True)
class PastCall:
    """An earlier call and its result: a text, or parts with images."""

    number: str
    name: str
    arguments: dict[str, Any]
    result: str | tuple[Part, ...]

    @property
    def text(self) -> str:
        """The arguments as JSON text."""
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Step:
    """A step of an assistant: a thought, a text, parallel calls. One of them is there."""

    thought: str
    text: str
    calls: tuple[PastCall, ...]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of the user in parts, or of the system, and what the assistant did next."""

    role: Literal["user", "system"]
    parts: tuple[Part, ...]
    steps: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class Function:
    """A tool; None: the request leaves the field out."""

    name: str
    about: str | None
    parameters: dict[str, Any]
    strict: bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A request. ``chosen``: the tool that the choice names. ``budget``: tokens of reasoning."""

    seed: int
    limit: int
    is_streamed: bool
    system: tuple[str, ...]
    turns: tuple[Turn, ...]
    tools: tuple[Function, ...] = ()
    choice: Choice = ""
    chosen: str = ""
    one_call: bool = False
    schema: dict[str, Any] | None = None
    thinking: Thinking = ""
    effort: str = ""
    budget: int = 0
    stops: tuple[str, ...] = ()
    sampling: Mapping[str, float] = field(default_factory=dict)


def question(draw: Random) -> Question:
    """Return a random request."""
    tools = tuple(_function(name, draw) for name in draw.sample(NAMES, draw.choice((0, 1, 2, 4))))
    choices: tuple[Choice, ...] = ("", "auto", "none", "required", "named", "allowed")
    kinds: tuple[Thinking, ...] = ("", "", "off", "on", "effort", "budget")
    return Question(
        seed=draw.randrange(1 << 30),
        limit=draw.choice((5, 200, 2000)),
        is_streamed=draw.random() < 0.5,
        system=("Be brief.", *_parts(draw)) if draw.random() < 0.5 else (),
        turns=_turns(draw),
        tools=tools,
        choice=draw.choice(choices) if tools else "",
        chosen=draw.choice(tools).name if tools else "",
        one_call=bool(tools) and draw.random() < 0.3,
        schema=_schema(draw) if draw.random() < 0.3 else None,
        thinking=draw.choice(kinds),
        effort=draw.choice(("low", "medium", "high")),
        budget=draw.choice((0, 5, 40)),
        stops=tuple(draw.sample(STOPS, draw.choice((0, 0, 0, 1, 3)))),
        sampling=draw.choice(SAMPLING),
    )


def _parts(draw: Random) -> tuple[str, ...]:
    return tuple(draw.choice(TEXTS) for _ in range(draw.choice((1, 1, 2, 3))))


def _shown(draw: Random) -> tuple[Part, ...]:
    """Return texts, in a fourth of the cases with images among them."""
    parts: list[Part] = [*_parts(draw)]
    for _ in range(draw.choice((0, 0, 0, 0, 0, 0, 1, 3))):
        parts.insert(draw.randint(0, len(parts)), Picture(draw.randrange(100)))
    return tuple(parts)


def _turns(draw: Random) -> tuple[Turn, ...]:
    last = Turn("user", (*_shown(draw), "Now? In JSON."), ())
    turns = [_turn(draw, at) for at in range(draw.randint(0, 3))]
    if turns and draw.random() < 0.3:
        # the agent goes on after results
        *turns, before = turns
        steps = [step for step in before.steps if step.calls]
        last = Turn(before.role, before.parts, (*steps, _step(draw, "last", (1, 2))))
    return (*turns, last)


def _turn(draw: Random, at: int) -> Turn:
    """Return a turn of one or two steps: an assistant goes on after results only."""
    role: Literal["user", "system"] = "system" if at and draw.random() < 0.15 else "user"
    last = _step(draw, f"{at}_1", (0, 0, 1, 2))
    steps = (_step(draw, f"{at}_0", (1, 2)), last) if draw.random() < 0.3 else (last,)
    return Turn(role, _shown(draw) if role == "user" else _parts(draw), steps)


def _step(draw: Random, place: str, numbers: tuple[int, ...]) -> Step:
    calls = [_past_call(draw, f"{place}_{number}") for number in range(draw.choice(numbers))]
    thought = draw.choice(("", "", "I think.", "é\n\nthen"))
    text = draw.choice(("", "Well.", "é漢"))
    return Step(thought, text if thought or calls else text or "Well.", tuple(calls))


def _past_call(draw: Random, place: str) -> PastCall:
    name, arguments = draw.choice(NAMES), draw.choice(ARGUMENTS)
    result = _shown(draw) if draw.random() < 0.2 else draw.choice(TEXTS)
    return PastCall(f"call_{place}", name, arguments, result)


def _function(name: str, draw: Random) -> Function:
    about = draw.choice((None, "", "Do it.", "Do it.\nNow."))
    return Function(name, about, _schema(draw), draw.choice((None, False, True)))


def _schema(draw: Random) -> dict[str, Any]:
    """Return the schema of an object: a short one, or one with a random member."""
    if draw.random() < 0.6:
        return draw.choice((ALARM, LIGHT))
    made = SchemaMaker(draw, depth=2).document()
    defined = made.pop("$defs", {}) if isinstance(made, dict) else {}
    return {"type": "object", "properties": {"a": made}, "$defs": defined} | (
        {"required": ["a"]} if draw.random() < 0.5 else {}
    )
