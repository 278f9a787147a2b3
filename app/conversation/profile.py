"""Profiles of chat templates, measured by rendering short conversations.

A template is a program: its text does not show which roles it drops or which ids it refuses. So it
is run. Each text of a probe is a unique word; a word that is missing in the prompt was dropped, and
a template that raises refuses the conversation.

Representation   a TemplateProfile is a value: equal templates give equal profiles.
Invariants       I1 names of models have no influence. I2 any exception of a template counts as a
                 refusal.
Not here         the use of a profile (fitting).
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from adapters.formats import SPACED, Format, JsonLayout, JsonRules

from ..generation import ShownAnswers
from .call_layout import FLAT, NESTED, as_described, layout_in, same_space

Messages = Sequence[Mapping[str, Any]]
Tools = Sequence[Mapping[str, Any]]
#: variables of a request: ``enable_thinking``, ``reasoning_effort``, ...
Variables = Mapping[str, Any]
#: a message as text in the syntax of a format, behind this number of calls; None: it has no such
#: text
AsText = Callable[[Mapping[str, Any], int], str | None]
#: the calls of a message as a format writes them; None: it has several ways
PastCalls = Callable[[Mapping[str, Any]], str | None]

#: keys from which templates read the reasoning of a past answer
REASONING_KEYS = ("reasoning_content", "reasoning", "thinking")
TOOL_NAME = "wordtool"
Ids = Literal["any", "nine", "numbered", "numbered_by_answer"]
Greetings = Literal["any", "without_tools", "none"]
#: messages in which images are shown: of users and "results" of tools, of "users" only, or "no"
Images = Literal["results", "users", "no"]
#: the type of a part that is an image: as processors of transformers pass it, or as clients do
ImagePart = Literal["image", "image_url"]
_NUMBERED = (f"functions.{TOOL_NAME}:0", f"functions.{TOOL_NAME}:1")
#: ids of calls: of this server, as Mistral's templates require them, and as Kimi K2 writes them
CALL_IDS: dict[Ids, tuple[str, str]] = {
    "any": ("call_0123456789abcdef01234567", "call_123456789abcdef012345678"),
    "nine": ("a1b2c3d4e", "b1c2d3e4f"),
    "numbered": _NUMBERED,
    "numbered_by_answer": _NUMBERED,
}
_ARGUMENTS = ("object", "text")
CALLED = ("wordargument0", "wordresult0")
TOOL = {
    "type": "function",
    "function": {
        "name": TOOL_NAME,
        "description": "worddescription",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
    },
}


class TemplateError(ValueError):
    """A template refuses a conversation with this sentence of its own; "": it failed."""


#: renders a conversation up to the beginning of the answer; raises TemplateError if the template
#: raises any exception
Render = Callable[[Messages, Tools | None, Variables], str]


@dataclass(frozen=True, slots=True)
class TemplateProfile:
    """The messages that a template shows. False: it refuses them, or drops them silently.

    ``no_tools``            the value of ``tools`` that means none.
    ``system``              a system message at the beginning; ``systems``: two of them;
                            ``late_system``: one where it stands, at a later position.
    ``developer``           messages with this role.
    ``in_a_row``            two user messages in a row; ``user_behind_results``: one right behind
                            the results of tools.
    ``userless``            a conversation without any message of a user, also with tools.
    ``greetings``           answers and calls before the first message of a user: "any", only
                            "without_tools", or "none".
    ``empty_answers``       an answer without text.
    ``tools``, ``calls``    definitions of tools; past calls with their results.
    ``results``             results of tools, also behind calls that are written as text.
    ``call_syntax``         whether calls appear in the syntax of the format. "other" also if the
                            template shows tools but no calls, because the syntax is unknown then.
    ``arguments``           whether a call's arguments are an object or JSON text;
                            ``text_arguments``: also text that is no JSON object.
    ``layout``              of the arguments of calls, if they are JSON or have JSON in them; None:
                            the template shows no calls, or the text that it gets.
    ``call_space``          whether white space around the arguments of calls is that of the format.
    ``ids``                 ids of calls: any, nine letters and digits, or the tool's name and the
                            number of the call in its conversation, or in its answer.
    ``parallel_calls``      two calls in one message.
    ``text_beside_calls``   content of a message that also has calls: "beside" them, "before" them
                            in a separate message, or not at all.
    ``reasoning``           the key of the reasoning in the current turn; None: it is not shown.
    ``images``              images in messages of users and in "results", of "users" only, or "no";
                            ``image_part``: the type of their parts; ``placeholder``: the control
                            tokens that the template writes for each.
    ``images_with_tools``   images in the first message of a user also beside tools.
    """

    no_tools: Literal["none", "empty"] = "none"
    system: bool = True
    systems: bool = True
    late_system: bool = True
    developer: bool = True
    in_a_row: bool = True
    user_behind_results: bool = True
    userless: bool = True
    greetings: Greetings = "any"
    empty_answers: bool = True
    tools: bool = True
    calls: bool = True
    results: bool = True
    call_syntax: Literal["format", "other"] = "format"
    arguments: Literal["object", "text"] = "object"
    text_arguments: bool = True
    layout: JsonLayout | None = SPACED
    call_space: Literal["format", "other"] = "format"
    ids: Ids = "any"
    parallel_calls: bool = True
    text_beside_calls: Literal["beside", "before", "no"] = "beside"
    reasoning: str | None = "reasoning_content"
    images: Images = "results"
    image_part: ImagePart = "image"
    placeholder: tuple[str, ...] = ()
    images_with_tools: bool = True

    def described(self) -> dict[str, Any]:
        """Return the differences from a template that shows everything, for log and models."""
        whole = TemplateProfile()
        names = self.__dataclass_fields__
        other = {n: getattr(self, n) for n in names if getattr(self, n) != getattr(whole, n)}
        return other if "layout" not in other else {**other, "layout": as_described(self.layout)}


def shown_answers(wire: Format, profile: TemplateProfile | None) -> ShownAnswers:
    """Return how prompts show answers. None: the model has no template, and its format writes the
    prompts.

    JSON has the format's layout where a template shows none. Several calls are those of one
    answer; without a template, they are there if the family's models write them.
    """
    if profile is None:
        rules, several = JsonRules(layout=wire.layout, element_space=True), wire.parallel_by_default
    else:
        has_space = profile.call_space == "format"
        rules = JsonRules(layout=profile.layout or wire.layout, element_space=has_space)
        several = profile.parallel_calls
    return ShownAnswers(rules, several_calls=wire.is_parallel and several)


def profile_of(
    render: Render,
    as_text: AsText = lambda *_: None,
    past_calls: PastCalls | None = None,
    *,
    shows_calls: bool = True,
) -> TemplateProfile:
    """Return the profile of a template without that of images (image_profile). Renders about twenty
    short conversations in a few ms.

    ``past_calls``: None: as ``as_text`` writes them. ``shows_calls``: False for a template that
    must get no tools and no calls, as if it showed none.
    """
    past_calls = past_calls or (lambda message: as_text(message, 0))
    return _Probe(render, as_text, past_calls, shows_calls).profile()


class _Probe:
    def __init__(
        self, render: Render, as_text: AsText, past_calls: PastCalls, shows_calls: bool
    ) -> None:
        self._render = render
        self._as_text = as_text
        self._past_calls = past_calls
        self._shows_calls = shows_calls
        self._no_tools: Tools | None = None
        #: a question, a call and its result in a form that the template shows; [] without one
        self._loop: Messages = []

    def profile(self) -> TemplateProfile:
        user, two = _said("user"), _said("user", "wordtwo")
        if not self._shows([user]):
            self._no_tools = []
            if not self._shows([user]):
                self._no_tools = None
        calls = self._of_calls()
        calls |= self._numbering(calls)
        system = self._shows_system()
        said = _said("assistant")
        tools = self._shows_calls and self._shows([user], "wordtool", tools=[TOOL])
        return TemplateProfile(
            no_tools="none" if self._no_tools is None else "empty",
            system=system,
            systems=system and self._shows([_said("system"), _said("system", "wordtwo"), user]),
            late_system=system and self._shows_late([user, said, _said("system")], two),
            developer=self._shows([_said("developer"), user]),
            in_a_row=self._shows([user, two]),
            userless=self._is_userless(tools),
            greetings=self._greetings(tools),
            empty_answers=self._shows([user, {"role": "assistant", "content": ""}, two]),
            tools=tools,
            call_syntax=self._call_syntax(tools),
            **self._layout(calls),
            **calls,
        )

    def _shows_system(self) -> bool:
        """Some templates show tools only with a user message, or only with the last one."""
        system, user = _said("system"), _said("user")
        answered = [system, user, _said("assistant"), _said("user", "wordtwo")]
        if not (self._shows([system, user]) and self._shows(answered)):
            return False
        loop = self._loop
        return not loop or self._shows([system, *loop], *CALLED, tools=[TOOL])

    def _shows_late(self, late: Messages, two: Mapping[str, Any]) -> bool:
        """Some templates gather all system messages at the beginning."""
        if not (self._shows(late) and self._shows([*late, two])):
            return False
        prompt = self._render(late, self._no_tools, {})
        return prompt.rfind("wordassistant") < prompt.rfind("wordsystem")

    def _is_userless(self, tools: bool) -> bool:
        """Some templates refuse such a conversation, and some do not show the tools in it."""
        given, words = ([TOOL], ("worddescription",)) if tools else (None, ())
        begun = [[_said("system")], [_said("assistant")], self._loop[1:]]
        return all(self._shows(each, *words, tools=given) for each in begun if each)

    def _greetings(self, tools: bool) -> Greetings:
        """Some templates show tools in the first message, and take it for a user's."""
        user = _said("user")
        if not self._shows([_said("assistant"), user]):
            return "none"
        early = self._loop[1:]
        if not tools or not early:
            return "any"
        return "any" if self._shows([*early, user], *CALLED, tools=[TOOL]) else "without_tools"

    def _call_syntax(self, tools: bool) -> Literal["format", "other"]:
        if not self._loop:
            return "other" if tools else "format"
        call = self._loop[1]["tool_calls"][0]
        written = self._as_text(loop_of([call["id"]], "text")[1], 0)
        if written is None:
            return "format"
        shown = self._render(self._loop, [TOOL], {})
        return "format" if squeezed(written) in squeezed(shown) else "other"

    def _layout(self, calls: Mapping[str, Any]) -> dict[str, Any]:
        """Return the white space of calls, measured with arguments of the template's form."""
        if not self._loop or calls["arguments"] == "text":
            return {"layout": None}

        def shown(arguments: Any) -> str:
            return self._render(_calling(self._loop, arguments), [TOOL], {})

        try:
            layout = layout_in(shown(NESTED), NESTED)
            written = self._past_calls(_calling(self._loop, json.dumps(FLAT))[1])
            is_same = written is None or same_space(written, shown(FLAT), FLAT)
        except TemplateError:
            return {"layout": None}
        return {"layout": layout, "call_space": "format" if is_same else "other"}

    def _of_calls(self) -> dict[str, Any]:
        for kind in _ARGUMENTS if self._shows_calls else ():
            for name, ids in CALL_IDS.items():
                loop = loop_of(ids[:1], kind)
                if self._shows(loop, *CALLED, tools=[TOOL]):
                    self._loop = loop
                    return {"ids": name, "arguments": kind, **self._of_loops(ids, kind)}
        return {
            "calls": False,
            "results": self._shows_results(),
            "parallel_calls": False,
            "text_beside_calls": "no",
            "reasoning": None,
        }

    def _numbering(self, calls: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return the numbered kind of ids, if the format writes such ids, and the template prints
        those that calls or results have, or numbers the calls of each answer itself.
        """
        if calls.get("ids") != "any":
            return {}
        kind, (first, second) = calls["arguments"], CALL_IDS["numbered"]
        answer = loop_of(CALL_IDS["any"][:1], "text")[1]
        if first not in (self._as_text(answer, 0) or ""):
            return {}
        loops = [each for name in CALL_IDS["any"] for each in loop_of([name], kind)]
        try:
            shown = self._render(loops, [TOOL], {})
        except TemplateError:
            shown = self._render(self._loop, [TOOL], {}) + second
        by_answer = first in shown and second not in shown
        if not by_answer and CALL_IDS["any"][0] not in shown:
            return {}
        self._loop = loop_of([first], kind)
        return {"ids": "numbered_by_answer" if by_answer else "numbered"}

    def _shows_results(self) -> bool:
        """Whether results are shown behind an answer without calls, now and in later turns."""
        loop = results_alone()
        turn_over = [*loop, _said("assistant"), _said("user", "wordtwo")]
        shown = ("wordresult0", "wordresult1")
        return self._shows(loop, *shown) and self._shows(turn_over, *shown)

    def _of_loops(self, ids: Sequence[str], kind: str) -> dict[str, Any]:
        def shows(loop: Messages, *words: str) -> bool:
            return self._shows(loop, *words, tools=[TOOL])

        def thinks(key: str) -> bool:
            loop = loop_of(ids[:1], kind, thought=(key, "wordthought"))
            return shows(loop, "wordthought", *CALLED)

        reasoning = next(filter(thinks, REASONING_KEYS), None)
        thought = (reasoning, "wordthought") if reasoning else None
        with_text = loop_of(ids[:1], kind, "wordbeside", thought)
        user, *rest = loop = loop_of(ids[:1], kind)
        # some drop it after the turn, or refuse it with a thought
        turn_over = [*with_text, _said("assistant"), _said("user", "wordtwo")]
        if shows(with_text, *CALLED) and shows(turn_over, *CALLED):
            beside = "beside"
        else:
            beside = "before" if shows([user, _said("assistant"), *rest], *CALLED) else "no"
        return {
            "user_behind_results": shows([*loop, _said("user", "wordtwo")], *CALLED),
            "text_arguments": shows(loop_of(ids[:1], "cut"), *CALLED),
            "parallel_calls": shows(loop_of(ids, kind), *CALLED, "wordargument1", "wordresult1"),
            "text_beside_calls": beside,
            "reasoning": reasoning,
        }

    def _shows(self, messages: Messages, *words: str, tools: Tools | None = None) -> bool:
        """Whether the prompt contains these words and texts."""
        said = [m["content"] for m in messages if m["role"] != "tool" and m["content"]]
        try:
            prompt = self._render(messages, self._no_tools if tools is None else tools, {})
        except TemplateError:
            return False
        return all(word in prompt for word in (*said, *words))


def squeezed(text: str) -> str:
    """Remove white space, in which families and their templates differ."""
    return "".join(text.split())


def _calling(loop: Messages, arguments: Any) -> Messages:
    """Return a loop with other arguments in its call."""
    user, answer, *results = loop
    (call,) = answer["tool_calls"]
    function = {**call["function"], "arguments": arguments}
    return [user, {**answer, "tool_calls": [{**call, "function": function}]}, *results]


def _said(role: str, text: str | None = None) -> Mapping[str, Any]:
    return {"role": role, "content": text or f"word{role}"}


def results_alone() -> Messages:
    """Return results behind an answer without calls."""
    user, _, *results = loop_of(CALL_IDS["any"], "text")
    return [user, {"role": "assistant", "content": "wordcalls"}, *results]


def loop_of(
    ids: Sequence[str], kind: str, content: str = "", thought: tuple[str, str] | None = None
) -> Messages:
    """Return a question, calls with these ids and their results.

    ``kind``: of the arguments: "object", JSON "text", or "cut" text. ``thought``: a key and a text.
    """
    calls, results = [], []
    for number, name in enumerate(ids):
        arguments: Any = {"city": f"wordargument{number}"}
        if kind != "object":
            arguments = json.dumps(arguments)
        if kind == "cut":
            arguments = arguments.replace('"}', " ")
        function = {"name": "wordtool", "arguments": arguments}
        calls.append({"id": name, "type": "function", "function": function})
        result = {"role": "tool", "tool_call_id": name, "name": "wordtool"}
        results.append({**result, "content": f"wordresult{number}"})
    answer = {"role": "assistant", "content": content, "tool_calls": calls}
    if thought is not None:
        answer[thought[0]] = thought[1]
    return [_said("user"), answer, *results]
