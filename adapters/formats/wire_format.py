"""The interface of a format: one model family's wire syntax."""

from collections.abc import Sequence
from typing import Protocol

from .format_plan import FormatPlan
from .output_spec import ChatMessage, OutputSpec, Tool


class Format(Protocol):
    """One model family's wire syntax: prompts, the grammar of answers, and how answers are read.

    ``stop_texts``  the tokens that end its answers.
    ``own_tokens``  the special tokens it requires: a vocabulary that lacks one does not fit.
    """

    @property
    def name(self) -> str: ...
    @property
    def stop_texts(self) -> tuple[str, ...]: ...
    @property
    def own_tokens(self) -> tuple[str, ...]: ...

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        """Return the structural tag of an answer, and how to read the answer.

        ``special_texts``: all special tokens of the vocabulary. Free text contains none of them
        except those that open the format's own tags.

        Raises:
            FormatError: the output can't be written in this format, or nothing satisfies it.
        """
        ...

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        """Return the prompt as text with special tokens spelled out, for tokenizers without a chat
        template.

        Raises:
            FormatError: a message has a shape that this format can't show.
        """
        ...

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        """Return what a system message must say about ``tools`` and the response schema, for a chat
        template that shows neither; "" for nothing.
        """
        ...

    def as_text(self, message: ChatMessage) -> str | None:
        """Return a past answer with calls, or a tool's result, as the model would read it in text,
        for a chat template that shows neither; None: this format has no such text.
        """
        ...
