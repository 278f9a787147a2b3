"""What a request asks for -> what is compiled.

Representation   SGLang names a grammar by (kind, text): json, regex, ebnf or structural_tag. A
                 request that thinks first gets the same grammar behind a region of free thinking,
                 which ends at the model's own end tag; so thinking is part of the grammar, and is
                 rolled back with it.

Not here         compiling (compiling).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from engine import Compiled, Compiler, SpecError, WorkBudget

#: SGLang's names for them
KINDS = ("json", "regex", "ebnf", "full_assistant_ebnf", "structural_tag")


class Spec(str):
    """A grammar's text as SGLang hands it on: whole, but short where it is shown in messages."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self):,} characters>"


@dataclass(frozen=True, slots=True)
class Thinking:
    """A region of thinking in front of the answer. ``most`` tokens; None: no bound."""

    end: str
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Wanted:
    """What one compilation is of; equal ones share it.

    ``most_whitespace``: characters of white space between the tokens of a JSON answer, as SGLang's
    options bound them; None: as the engine takes it.
    """

    kind: str
    text: str
    thinking: Thinking | None = None
    most_whitespace: int | None = None


def compile_wanted(
    compiler: Compiler, wanted: Wanted, budget: WorkBudget | None = None
) -> Compiled:
    """
    Raises:
        SpecError, LimitExceeded, Cancelled: see ``engine.Compiler``.
    """
    compile_tag = partial(compiler.compile_structural_tag, budget=budget)
    kind, text = wanted.kind, wanted.text
    if kind not in KINDS:
        raise SpecError(f"grammars of the kind {kind!r} are unknown")
    if wanted.thinking is not None:
        return compile_tag(_behind(wanted.thinking, compiler, wanted))
    if kind == "json" and wanted.most_whitespace is not None:
        return compile_tag({"format": _format(compiler, wanted)})
    if kind == "json":
        return compiler.compile_json_schema(text, budget=budget)
    if kind == "regex":
        return compiler.compile_regex(text, budget=budget)
    if kind in ("ebnf", "full_assistant_ebnf"):
        return compiler.compile_grammar(text, "ebnf", budget=budget)
    return compile_tag(_tag(compiler.parse(text)))


def _tag(spec: Any) -> Any:
    """SGLang's older form of structural tags, structures and triggers, as today's; others as they
    are.
    """
    if not isinstance(spec, dict) or "structures" not in spec:
        return spec
    structures = spec["structures"]
    if not isinstance(structures, list):
        raise SpecError("structures must be an array", "/structures")
    tags = []
    for number, each in enumerate(structures):
        if not isinstance(each, dict) or not {"begin", "schema", "end"} <= each.keys():
            raise SpecError("a structure needs begin, schema and end", f"/structures/{number}")
        content = {"type": "json_schema", "json_schema": each["schema"]}
        tags.append({"begin": each["begin"], "content": content, "end": each["end"]})
    triggered = {"type": "triggered_tags", "triggers": spec.get("triggers"), "tags": tags}
    return {"type": "structural_tag", "format": triggered}


def _behind(thinking: Thinking, compiler: Compiler, wanted: Wanted) -> dict[str, Any]:
    """The grammar behind a region of thinking."""
    thought: dict[str, Any] = {"type": "any_text"}
    if thinking.most is not None:
        thought["max_tokens"] = thinking.most
    region = {"type": "tag", "begin": "", "content": thought, "end": thinking.end}
    answer = _format(compiler, wanted)
    return {"type": "structural_tag", "format": {"type": "sequence", "elements": [region, answer]}}


def _format(compiler: Compiler, wanted: Wanted) -> Any:
    kind, text = wanted.kind, wanted.text
    if kind == "json":
        most = wanted.most_whitespace
        bound = {} if most is None else {"max_whitespace_cnt": most}
        return {"type": "json_schema", "json_schema": compiler.parse(text), **bound}
    if kind == "regex":
        return {"type": "regex", "pattern": text}
    if kind == "structural_tag":
        tag = _tag(compiler.parse(text))
        if not isinstance(tag, dict) or "format" not in tag:
            raise SpecError("a structural tag needs a format")
        return tag["format"]
    return {"type": "grammar", "grammar": text}
