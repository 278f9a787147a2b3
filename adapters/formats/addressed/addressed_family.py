"""Families whose answers are messages with headers: to the user, to a tool, or to the model itself.

A message is a header, which says what it is and names the tool of a call, and a body: text, the
arguments of a call, or a thought. The prompt ends where the first header begins. An AddressedFamily
is data; this file defines the specs of all of them:

    choice, schema             the answer, each message behind any number of thoughts
    no tools, or none          one text
    auto                       calls, or a text that calls may follow
    auto with a schema         only calls, or one JSON value
    required, named            only calls; a response schema has no effect then
    none with a schema         one JSON value

Text never contains a text that opens another message, except before a call.

An output that bounds the tokens of reasoning allows one thought, at the beginning: the bound
applies to one message.

Not here    the families (one module for each vendor), the text of arguments (tags.notation), the
            prompt of Inkling (inkling_prompt), Harmony, whose headers vary, and whose calls end
            the answer.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from ..format_plan import FormatPlan, make_plan
from ..offered_tools import OfferedTool, answer_value, must_call, offered_tools, one_call_only
from ..output_spec import ChatMessage, OutputSpec, PastCall, Tool
from ..parts import (
    CONTENT,
    REASONING,
    THOUGHT,
    Part,
    any_text,
    const,
    either,
    optional,
    separated,
    sequence,
    star,
    tag,
)
from ..reading.reader import TagWhitespace
from ..spelling import unwritable, word_name
from ..tags import JSON, PLAIN_CHAT, Chat, Notation, choice_text, offers, render_chat
from ..turns import read_turns
from ..wire_format import Format

#: writes a whole prompt; see Format.render
PromptText = Callable[[Sequence[ChatMessage], Sequence[Tool], OutputSpec], str]


@dataclass(frozen=True, kw_only=True)
class AddressedFamily(Format):
    """One family; its strings are the texts on the wire. Further texts: see Format.

    ``text``       the header of a text. ``thought``: of a thought ("" = none).
    ``begin``      the header of a call and the text before its arguments; "{name}" stands for the
                   tool's name. ``close``: behind its arguments.
    ``end``        of a message that another one follows; ``start``: begins that one. The two are
                   also the end of a thought.
    ``tail``       of the last message; a stop token follows it.
    ``mark``       the text that always ends a text, a prefix of ``end`` and ``start``; "": only the
                   whole text up to the arguments of a tool, or to another text, ends it.
    ``reserved``   the names of other recipients, which no tool can have.
    ``prompt``     writes prompts for tokenizers without a chat template; None: ``chat`` does.
    """

    text: str
    begin: str
    start: str = ""
    mark: str = ""
    end: str = ""
    tail: str = ""
    thought: str = ""
    close: str = ""
    reserved: tuple[str, ...] = ()
    arguments: Notation = JSON
    chat: Chat = PLAIN_CHAT
    prompt: PromptText | None = None

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        tools = offered_tools(output, self.spell, special_texts, sorted_levels=self.sorted_levels)
        root = _Answer(self, output, tools, special_texts).root()
        return make_plan(
            root,
            output,
            stop_texts=self.stop_texts,
            whitespace=TagWhitespace(),
            style_layout=self.arguments.layout,
        )

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        if self.prompt is not None:
            return self.prompt(messages, tools, output)
        chat = replace(self.chat, before_call=self.separator)
        addressed = [self._addressed(message) for message in messages]
        return render_chat(chat, self._calls_text, addressed, tools, output)

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        return "\n\n".join(offers(self.chat, self._calls_text, tools, output))

    def choice_text(self, output: OutputSpec) -> str:
        return choice_text(self.chat, output)

    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        return [self.start + self._calls_text(some, 0) for some in (calls, calls[:1])]

    def past_calls(self, message: ChatMessage) -> str | None:
        (turn,) = read_turns([message])
        return self._calls_text(turn.calls, 0)

    @property
    def separator(self) -> str:
        """The text between two messages."""
        return self.end + self.start

    def call_begin(self, name: str) -> str:
        """Return the text before the arguments of a call; ``name``: as it is spelled."""
        return self.begin.replace("{name}", name)

    def opens(self, begins: Iterable[str]) -> list[str]:
        """Return the texts that end a text before messages with these begins."""
        return [self.mark] if self.mark else [self.separator + begin for begin in begins]

    def spell(self, name: str) -> str | None:
        """Return the name of a tool as a recipient; None: it cannot be one."""
        return None if name in self.reserved else word_name(name)

    def _calls_text(self, calls: Sequence[PastCall], calls_before: int) -> str:
        return self.separator.join(
            self.call_begin(self.spell(call.name) or "")
            + self.arguments.written(call.arguments)
            + self.close
            for call in calls
        )

    def _addressed(self, message: ChatMessage) -> ChatMessage:
        """Return a past answer with the header of its text."""
        text = message.get("content")
        if message.get("role") != "assistant" or not isinstance(text, str) or not text:
            return message
        return {**message, "content": self.text + text}


@dataclass(frozen=True)
class _Answer:
    """The parts of one answer."""

    family: AddressedFamily
    output: OutputSpec
    tools: list[OfferedTool]
    special_texts: Sequence[str]

    def root(self) -> Part:
        """Return the whole answer."""
        if must_call(self.output):
            answer = self._calls()
        elif self.tools:
            answer = either(self._calls(), self._text())
        else:
            answer = self._text()
        tail = [const(self.family.tail)] if self.family.tail else []
        return sequence(*self._first_thoughts(), answer, *tail)

    def _text(self) -> Part:
        """Return one JSON value, or free text that calls may follow."""
        header, value = self.family.text, answer_value(self.output)
        if value is not None:
            return tag(header, value, "")
        text = tag(header, any_text(CONTENT, self._excludes()), "")
        if not self.tools:
            return text
        behind = sequence(const(self.family.separator), *self._thoughts(), self._calls())
        return sequence(text, optional(behind))

    def _excludes(self) -> list[str]:
        """Return the texts that free text must exclude: special tokens and the texts that open
        another message.
        """
        family = self.family
        opens = family.opens([family.text, *self._call_begins()])
        return [*dict.fromkeys([*unwritable(self.special_texts), *opens])]

    def _call_begins(self) -> list[str]:
        spelled = (self.family.spell(tool.name) for tool in self.output.tools)
        return [self.family.call_begin(name) for name in spelled if name]

    # -- calls -------------------------------------------------------------------------------------
    def _calls(self) -> Part:
        tags = [self._call(tool, self.family.call_begin(tool.spelled)) for tool in self.tools]
        return separated(tags, self.family.separator, only_one=one_call_only(self.output))

    def _call(self, tool: OfferedTool, begin: str) -> Part:
        style = self.family.arguments.style
        arguments = tool.arguments(style)
        return tag(begin, arguments, self.family.close, tool.role(style), tool.origin)

    # -- reasoning ---------------------------------------------------------------------------------
    def _first_thoughts(self) -> list[Part]:
        """Return the thoughts at the beginning of the answer."""
        is_open = self.output.thought == "open" and bool(self.family.thought)
        if is_open:
            return [self._thought(""), *self._thoughts()]
        if self.output.thinking_tokens is None or not self._may_think():
            return self._thoughts()
        return [optional(self._thought(self.family.thought))]

    def _thoughts(self) -> list[Part]:
        """Return any number of thoughts, where their tokens are not bounded."""
        if self.output.thinking_tokens is not None or not self._may_think():
            return []
        return [star(self._thought(self.family.thought))]

    def _thought(self, begin: str) -> Part:
        if self._may_think():
            inside = any_text(REASONING, self._excludes(), self.output.thinking_tokens)
        else:
            # the prompt opened the thought: it ends at once
            inside = const("")
        return tag(begin, inside, self.family.separator, THOUGHT)

    def _may_think(self) -> bool:
        is_over = self.output.reasoning == "off" or self.output.thought == "closed"
        return bool(self.family.thought) and not is_over
