"""The trial of a derived family: random calls, written by the chat template, accepted by the
family's grammar and read back as the same calls.

The template shares no code with the family, so a difference is a syntax that the model was not
trained on. Types of values that a template does not show, or shows in another notation, such as
lists as Python writes them, are named and left out: the grammar requires its own notation there.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from random import Random
from typing import Any

from adapters.formats import (
    ContentDelta,
    FormatError,
    OutputSpec,
    PythonArguments,
    ReasoningDelta,
    TagFamily,
    Tool,
    ToolArguments,
    ToolStart,
    for_own_engine,
)
from engine import Compiler, LimitExceeded, Matcher, SpecError, Vocabulary

from .answers import THOUGHT, Answers, Call, NotDerived
from .notations import TYPED
from .random_calls import PIECES, RandomCalls, described_tool

#: kinds of values without which a family is of no use
_NEEDED = ("string", "integer", "number", "boolean")
#: lists and objects in others
_NESTED: Mapping[str, Any] = {
    "array": [{"wordinner": [True]}, ["word"]],
    "object": {"wordinner": {"wordinmost": 1}, "wordlist": [{}, [2]]},
}
_STOP = b"<the end of the answer>"
_MAX_SHOWN = 200
_CONTENT = "wordsaid"


class Trial:
    """Trials of one family.

    ``special``: the texts of special tokens. ``space``: that of the template behind calls.
    """

    def __init__(
        self, answers: Answers, family: TagFamily, special: Collection[str], space: str
    ) -> None:
        self._answers = answers
        self._family = family
        self._space = space
        #: what random calls are made of
        self._pieces = [*PIECES]
        self._depth = 1
        self._special = [text for text in dict.fromkeys(special) if text]
        texts = [text.encode() for text in self._special]
        tokens = [*(bytes([byte]) for byte in range(256)), *texts, _STOP]
        self._ids = {token: number for number, token in enumerate(tokens)}
        self._tokens = re.compile(
            b"|".join(map(re.escape, sorted(texts, key=len, reverse=True))) or rb"(?!)"
        )
        self._compiler = Compiler(
            Vocabulary(
                tokens,
                stop_token_ids=[len(tokens) - 1],
                special_token_ids=range(256, len(tokens)),
            )
        )

    def lost(self) -> frozenset[str]:
        """Return the types of values that the template does not write as the grammar requires.

        Raises:
            NotDerived: it does not even write strings and numbers so.
        """
        lost = set()
        for kind, value in TYPED.items():
            try:
                self._check_one(kind, value)
            except NotDerived:
                if kind in _NEEDED:
                    raise
                lost.add(kind)
        scalars = [value for kind, value in TYPED.items() if kind not in (*lost, "array", "object")]
        for kind in {"array", "object"} - lost:
            named = {f"word{n}": value for n, value in enumerate(scalars)}
            if not self._is_written(kind, scalars if kind == "array" else named):
                lost.add(kind)
            elif not self._is_written(kind, _NESTED[kind]):
                self._depth = 0
        if isinstance(self._family.arguments, PythonArguments):
            # many templates write strings without escapes
            self._pieces = [piece for piece in PIECES if self._is_text_written(f"a{piece}b", lost)]
            if not self._is_text_written("a'b\"c", lost):
                self._pieces = [piece for piece in self._pieces if piece != "'"]
        return frozenset(lost)

    def _is_written(self, kind: str, value: Any) -> bool:
        try:
            self._check_one(kind, value)
        except NotDerived:
            return False
        return True

    def _is_text_written(self, text: str, lost: Collection[str]) -> bool:
        """Whether the template writes this text so, also in lists if it writes those."""
        in_list = "array" in lost or self._is_written("array", [text])
        return in_list and self._is_written("string", text)

    def _check_one(self, kind: str, value: Any) -> None:
        tool = described_tool("look_up", {"first": {"type": kind}}, ["first"])
        self.check([tool], [Call("look_up", {"first": value})])

    def run(self, seed: str, count: int, lost: Collection[str]) -> None:
        """Check random answers, every second one behind an earlier call. Raises NotDerived with
        the first that is read in another way.
        """
        style = self._family.arguments.style
        ends = [] if isinstance(style, str) else [style.value_end, style.quote, style.wrap[0]]
        source = RandomCalls(
            Random(seed),
            [kind for kind in TYPED if kind not in lost],
            depth=self._depth,
            pieces=self._pieces,
            barred=[*filter(None, ends)],
            most=3 if self._family.is_parallel else 1,
        )
        self._check_free_text()
        takes_earlier = self._takes_earlier()
        for number in range(count):
            tools, calls = source.draw()
            self.check(tools, calls, calls[:1] if takes_earlier and number % 2 else ())

    def check(
        self, tools: Sequence[Tool], calls: Sequence[Call], before: Sequence[Call] = ()
    ) -> None:
        """Check one answer that has to have calls. ``before``: earlier calls. Raises NotDerived."""
        try:
            shown = self._answers.with_tools(tools).of(calls, before=before)
        except NotDerived:
            # some templates do not know all types
            strings = [_of_strings(tool) for tool in tools]
            shown = self._answers.with_tools(strings).of(calls, before=before)
        output = OutputSpec(
            tuple(tools), "required", reasoning="off", calls_before=self._counted(before)
        )
        self._check_read(shown, output, calls)

    def _counted(self, before: Sequence[Call]) -> int:
        ids = self._family.ids
        return len(before) if ids is not None and ids.numbers == "conversation" else 0

    def _takes_earlier(self) -> bool:
        """Whether the template shows calls of an earlier answer, too."""
        tool, call = _STRING_CALL
        try:
            self._answers.with_tools([tool]).of([call], before=[call])
        except NotDerived:
            return False
        return True

    def _check_free_text(self) -> None:
        """Check answers that may have calls: without content, and with content before the calls if
        the template and the family show both.

        Llama 4's template has marks around content beside calls alone. Its family leaves them out,
        so its answers have either.
        """
        tool, call = _STRING_CALL
        answers, output = self._answers.with_tools([tool]), OutputSpec((tool,), reasoning="off")
        calls = [call, call] if self._family.is_parallel else [call]
        marks = self._family.text
        self._check_read((answers.whole if marks else answers.of)(calls), output, calls)
        if not (marks.is_beside_calls if marks else not answers.no_content):
            return
        try:
            shown = answers.whole(calls, _CONTENT)
        except NotDerived:
            return
        before, found, _ = shown.partition(_CONTENT)
        if found and call.name not in before:
            self._check_read(shown, output, calls, _CONTENT)

    def reads_thoughts(self) -> bool:
        """Whether the family reads a thought before calls as the template writes it."""
        tool, call = _STRING_CALL
        try:
            shown, state = self._answers.with_tools([tool]).thoughtful([call])
            output = OutputSpec((tool,), thought=state)
            self._check_read(shown, output, [call], thought=THOUGHT)
        except NotDerived:
            return False
        return True

    def _check_read(
        self,
        shown: str,
        output: OutputSpec,
        calls: Sequence[Call],
        content: str = "",
        thought: str = "",
    ) -> None:
        text = shown.lstrip().removesuffix(self._space) + self._family.tail
        if not content and not thought:
            text = self._begin() + text
        try:
            read = self._read(text, output)
        except (FormatError, SpecError, LimitExceeded, ValueError) as error:
            raise NotDerived(f"no grammar for the calls: {error}") from error
        if read != (thought, content, [(call.name, dict(call.arguments)) for call in calls]):
            shown = text if len(text) <= _MAX_SHOWN else text[: _MAX_SHOWN - 1] + "…"
            raise NotDerived(f"the family reads {shown!r} as {read and read[2]}")

    def _begin(self) -> str:
        """Return the white space with which calls begin."""
        section = self._family.section
        begin = section.begin if section else self._family.begin
        return begin[: len(begin) - len(begin.lstrip())]

    def _read(self, text: str, output: OutputSpec) -> tuple[str, str, list[tuple[str, Any]]] | None:
        """Return the thought and the content, without white space around them, and the calls that
        an answer is read as; None: the grammar does not accept it.
        """
        plan = for_own_engine(self._family.plan(output, self._special))
        grammar = self._compiler.compile_structural_tag(plan.spec_json)
        ids = [*self._encoded(text.encode())]
        matcher = Matcher(grammar)
        if not all(map(matcher.accept_token, ids)) or not matcher.can_stop():
            return None
        parser, reader = grammar.parser(), plan.reader()
        deltas = [delta for token in ids for delta in reader.feed(parser.feed(token))]
        deltas += [*reader.feed(parser.finish()), *reader.finish()]
        thought = "".join(delta.text for delta in deltas if isinstance(delta, ReasoningDelta))
        content = "".join(delta.text for delta in deltas if isinstance(delta, ContentDelta))
        calls: list[tuple[str, str]] = []
        for delta in deltas:
            if isinstance(delta, ToolStart):
                calls.append((delta.name, ""))
            elif isinstance(delta, ToolArguments):
                calls[-1] = calls[-1][0], calls[-1][1] + delta.text
        read = [(name, json.loads(arguments)) for name, arguments in calls]
        return thought.strip(), content.strip(), read

    def _encoded(self, text: bytes) -> Iterator[int]:
        at = 0
        for found in self._tokens.finditer(text):
            yield from text[at : found.start()]
            yield self._ids[found[0]]
            at = found.end()
        yield from text[at:]


def _of_strings(tool: Tool) -> Tool:
    """Return a tool all of whose arguments are said to be strings."""
    properties = {key: {"type": "string"} for key in tool.parameters["properties"]}
    return described_tool(tool.name, properties, tool.parameters["required"])


#: a tool with a string, and a call of it
_STRING_CALL = (
    described_tool("look_up", {"first": {"type": "string"}}, ["first"]),
    Call("look_up", {"first": "wordvalue"}),
)
