"""The interface of a format: one model family's wire syntax."""

from collections.abc import Sequence
from typing import Protocol

from .format_plan import FormatPlan
from .output_spec import ChatMessage, OutputSpec, PastCall, Tool


class Format(Protocol):
    """One model family's wire syntax: prompts, the grammar of answers, and how answers are read.

    ``stop_texts``  the tokens that end its answers.
    ``own_tokens``  the special tokens that its answers require; a vocabulary must contain all of
                    them. ``prompt_tokens``: those around the turns that ``render`` writes; a
                    tokenizer without a chat template must have them.
    ``marks``       texts of its calls: a model whose chat template or vocabulary contains all of
                    them, and whose template renders no calls, uses this format.
    """

    @property
    def name(self) -> str: ...
    @property
    def stop_texts(self) -> tuple[str, ...]: ...
    @property
    def own_tokens(self) -> tuple[str, ...]: ...
    @property
    def prompt_tokens(self) -> tuple[str, ...]: ...
    @property
    def marks(self) -> tuple[str, ...]: ...

    def plan(self, output: OutputSpec, special_texts: Sequence[str]) -> FormatPlan:
        """Return the plan of an answer: its structural tag and its reader.

        ``special_texts``: all special tokens of the vocabulary. Free text contains none of them
        except those that open the format's own tags.

        Raises:
            FormatError: this format cannot write the output, or no answer satisfies it.
        """
        ...

    def render(
        self, messages: Sequence[ChatMessage], tools: Sequence[Tool], output: OutputSpec
    ) -> str:
        """Return the prompt as text with special tokens spelled out, for tokenizers without a chat
        template.

        Raises:
            FormatError: a message has a form that this format cannot show.
        """
        ...

    def instructions(self, tools: Sequence[Tool], output: OutputSpec) -> str:
        """Return a system message's text about ``tools`` and the response schema, for chat
        templates that show neither; "" for none.
        """
        ...

    def calls_texts(self, calls: Sequence[PastCall]) -> Sequence[str]:
        """Return the calls of one answer in the ways in which chat templates show them."""
        ...

    def as_text(self, message: ChatMessage) -> str | None:
        """Return a past answer with calls, or a tool's result, as text, for chat templates that
        show neither; None: this format has no such text.
        """
        ...
