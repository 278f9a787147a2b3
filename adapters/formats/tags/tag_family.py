"""Families whose calls are tags in text: begin mark with the tool's name, arguments, end mark.

Not here    the families (one module for each vendor), their syntax as data (tag_syntax), the
            grammar of answers (tag_answer), prompts (chat_prompt), the text of arguments
            (notation).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..format_plan import FormatPlan, make_plan
from ..offered_tools import offered_tools
from ..output_spec import ChatMessage, OutputSpec, PastCall, Tool
from ..reading.reader import TagWhitespace
from ..turns import read_turns
from .chat_prompt import choice_text, offers, render_chat, turn_text
from .tag_answer import TagAnswer
from .tag_syntax import TagSyntax


@dataclass(frozen=True, kw_only=True)
class TagFamily(TagSyntax):
    """One family: its syntax, and the plans and prompts made from it."""

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        # texts that no tool's name may contain
        marks = [*special_texts, *self.triggers(()), *self.thinking_marks()]
        tools = offered_tools(output, self.spell, marks, sorted_levels=self.sorted_levels)
        root = TagAnswer(self, output, tools, special_texts).root()
        return make_plan(
            root,
            output,
            stop_texts=self.stop_texts,
            whitespace=self._whitespace(),
            style_layout=self.arguments.layout,
        )

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        return render_chat(self.chat, self.calls_text, messages, tools, output)

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        return "\n\n".join(offers(self.chat, self.calls_text, tools, output))

    def as_text(self, message: ChatMessage, calls_before: int = 0) -> str:
        (turn,) = read_turns([message])
        return turn_text(self.chat, self.calls_text, replace(turn, calls_before=calls_before))

    def choice_text(self, output: OutputSpec) -> str:
        return choice_text(self.chat, output)

    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        return [self.calls_text(calls), self.calls_text(calls[:1])]

    def _whitespace(self) -> TagWhitespace:
        marks = self.thinking
        return TagWhitespace(
            between=self.between,
            thought_newlines=marks.inner_newlines if marks else 0,
            answer_newlines=marks.outer_newlines if marks else 0,
        )
