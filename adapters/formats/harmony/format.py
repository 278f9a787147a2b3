"""Harmony, the format of gpt-oss. The prompt ends with <|start|>assistant, and an answer is

    (thought or preamble, <|start|>assistant)*  then one call or the final message

    thought    <|channel|>analysis<|message|> text <|end|>
    preamble   <|channel|>commentary<|message|> text <|end|>  content; only with tools, and not
               where content must be a JSON value or the answer a call
    call       <|channel|>commentary to=functions.NAME TYPE<|message|> JSON <|call|>
    builtin    <|channel|>analysis to=RECIPIENT TYPE<|message|> JSON or source code <|call|>
    final      <|channel|>final TYPE<|message|> text or JSON <|return|>

The grammar contains the headers that these models are known to write, also those that OpenAI's own
parser (openai-harmony) refuses or misreads: a header that it lacks would force a model off its way,
and no header changes what a call's arguments must be.

    recipient    before or behind the channel, or both (the same one); a space may stand before the
                 channel. The channel may follow the recipient again
    channel      of a call: commentary or analysis
    TYPE         a word of `_CALL_TYPES` or `_FINAL_TYPES` behind a space or <|constrain|>, or
                 nothing; in calls also between channel and recipient. The arguments are JSON
                 whatever it says; the type of Python is `code` only
    stray        `<|channel|>commentary to=assistant` before the header of any message

Not accepted: other recipients than declared tools with their namespace, a call on the final channel
or without a channel, types of thoughts and preambles, and any other text in a header. A grammar
that enforces keeps models from them.

The model stops at <|call|>, so there is one call per turn, whatever the value of
parallel_tool_calls. An answer that must be a call ends only with the call.

An output that bounds the tokens of reasoning allows one thought, at the beginning: the bound
applies to one message.

Marks are token nodes, so marks that are spelled out in text have no effect. A message's body is one
tag, from <|message|> to its end: the tag's role says which kind of message it is.

Checked against openai-harmony 0.0.8 and llama.cpp's copy of the chat template of gpt-oss-120b
(llama-cpp-python 0.3.36).

Not here    the prompt (prompt.py), the builtin tools (builtin_tools.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from ..argument_schema import argument_schema
from ..format_plan import FormatPlan, make_plan
from ..offered_tools import answer_value, must_call, offered_tools
from ..output_spec import ChatMessage, FormatError, OutputSpec, PastCall, Tool
from ..parts import (
    ARGUMENTS,
    CODE_STYLE,
    CONTENT,
    JSON_STYLE,
    REASONING,
    SYNTAX,
    THOUGHT,
    Kind,
    Origin,
    Part,
    Role,
    any_text,
    const,
    either,
    json_value,
    optional,
    regex,
    sequence,
    star,
    tag,
    token,
)
from ..reading.reader import TagWhitespace
from ..spelling import unwritable, word_name
from ..wire_format import Format
from .builtin_tools import builtin_recipients
from .prompt import developer_text, render_harmony

_START, _CHANNEL, _CONSTRAIN = "<|start|>", "<|channel|>", "<|constrain|>"
_MESSAGE, _END, _CALL, _RETURN = "<|message|>", "<|end|>", "<|call|>", "<|return|>"

_CALL_CHANNELS = ("commentary", "analysis")
_JSON, _CODE = "json", "code"
_CALL_TYPES = (_JSON, "JSON", _CODE)
_FINAL_TYPES = (_JSON, "JSON", "response")
_AGAIN = sequence(token(_START), const("assistant"))
#: a header without a message, which smaller models write before another one
_STRAY = optional(sequence(token(_CHANNEL), const("commentary to=assistant")))


@dataclass(frozen=True, kw_only=True)
class Harmony(Format):
    name: str = "harmony"
    stop_texts: tuple[str, ...] = (_RETURN, _CALL)
    marks: tuple[str, ...] = (_START, _CHANNEL, _MESSAGE, _CALL)
    is_parallel: bool = False
    own_tokens: tuple[str, ...] = (_START, _CHANNEL, _CONSTRAIN, _MESSAGE, _END, _CALL, _RETURN)

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        missing = [text for text in self.own_tokens if text not in special_texts]
        if missing:
            raise FormatError(f"the vocabulary has no token {', '.join(missing)}")
        calls = _calls(output, special_texts)
        root = _answer(output, calls, special_texts)
        return make_plan(root, output, stop_texts=self.stop_texts, whitespace=TagWhitespace())

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        return render_harmony(messages, tools, output)

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        # the template has a heading for instructions
        return "\n\n".join(filter(None, [output.instructions, developer_text([], tools, output)]))

    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        # some templates show one call only
        recipient = f" to=functions.{calls[0].name}"
        body = f"{_MESSAGE}{calls[0].arguments}{_CALL}"
        channel = f"{_CHANNEL}{_CALL_CHANNELS[0]}"
        types = (f" {_JSON}", f" {_CONSTRAIN}{_JSON}", "")
        headers = (channel + recipient, recipient + channel)
        return [header + kind + body for header in headers for kind in types]


HARMONY = Harmony()


def _answer(output: OutputSpec, calls: list[Part], special_texts: Sequence[str]) -> Part:
    value = answer_value(output)
    excludes = unwritable(special_texts)
    final = _final(value or any_text(CONTENT, excludes))
    thought = _message("analysis", any_text(REASONING, excludes, output.thinking_tokens), THOUGHT)
    preamble = _message("commentary", any_text(CONTENT, excludes))
    thoughts = [thought] if output.reasoning != "off" else []
    if thoughts and output.thinking_tokens is not None:
        rest = _rest([], preamble, calls, final, output)
        return sequence(optional(sequence(_STRAY, thought, _AGAIN)), *rest)
    return sequence(*_rest(thoughts, preamble, calls, final, output))


def _rest(
    thoughts: list[Part], preamble: Part, calls: list[Part], final: Part, output: OutputSpec
) -> list[Part]:
    """Return the answer, with any number of ``thoughts`` wherever a message may begin."""
    if not calls:
        return [*_before(thoughts), _STRAY, final]
    if must_call(output):
        return [*_before(thoughts), _STRAY, either(*calls)]
    # clients parse all content as the requested value, also beside calls
    before = [*thoughts, preamble] if output.response_schema is None else thoughts
    return [*_before(before), _STRAY, either(*calls, final)]


def _before(messages: list[Part]) -> list[Part]:
    """Return any number of these messages, each followed by the beginning of the next."""
    return [star(sequence(_STRAY, either(*messages), _AGAIN))] if messages else []


def _message(channel: str, content: Part, role: Role = SYNTAX) -> Part:
    body = tag(token(_MESSAGE), content, token(_END), role)
    return sequence(_channel(channel), body)


def _final(content: Part) -> Part:
    body = tag(token(_MESSAGE), content, token(_RETURN))
    return sequence(_channel("final"), optional(_type(_FINAL_TYPES)), body)


# -- calls -----------------------------------------------------------------------------------------


def _calls(output: OutputSpec, special_texts: Sequence[str]) -> list[Part]:
    """Return the calls that the answer may end with."""
    is_any = output.tool_choice in ("auto", "required")
    builtin = builtin_recipients(output.builtin_tools)
    calls = [
        _call(
            f"functions.{tool.spelled}",
            _CALL_TYPES,
            tag(token(_MESSAGE), tool.arguments(), token(_CALL), tool.role(), tool.origin),
        )
        for tool in offered_tools(output, word_name, special_texts, builtin)
    ]
    types: Sequence[str]
    for name, tool in builtin.items() if is_any else ():
        if tool is None:
            content, types = any_text(ARGUMENTS, unwritable(special_texts)), (_CODE,)
            style = CODE_STYLE
        else:
            schema = argument_schema(tool.parameters, "tools")
            content, types = json_value(schema, ARGUMENTS, Origin("tools")), _CALL_TYPES
            style = JSON_STYLE
        body = tag(token(_MESSAGE), content, token(_CALL), Role(Kind.CALL, name, style=style))
        calls.append(_call(name, types, body))
    return calls


def _call(name: str, types: Sequence[str], body: Part) -> Part:
    recipient, channel = const(f" to={name}"), _channel(*_CALL_CHANNELS)
    kind = optional(_type(types))
    header = either(
        sequence(channel, kind, recipient, optional(channel)),
        sequence(recipient, optional(const(" ")), channel, optional(recipient)),
    )
    return sequence(header, kind, body)


def _channel(*names: str) -> Part:
    return sequence(token(_CHANNEL), _words(names))


def _type(words: Sequence[str]) -> Part:
    marked = sequence(optional(const(" ")), token(_CONSTRAIN), _words(words))
    return either(marked, _words([f" {word}" for word in words]))


def _words(words: Sequence[str]) -> Part:
    # a shorter spec than alternatives of constants: each call repeats it
    return const(words[0]) if len(words) == 1 else regex("|".join(words))
