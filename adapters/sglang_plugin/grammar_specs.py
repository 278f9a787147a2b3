"""Grammar specs: the input of the compiler, made from a request to SGLang.

SGLang names a grammar by (kind, text): json, regex, ebnf or structural_tag. A request that thinks
first gets the same grammar behind a region of free thinking, which ends at the model's end tag.
Thinking is thus part of the grammar and is rolled back with it.

Not here   threads, caches (compiling).
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from engine import SPEC_VERSION, Compiled, Compiler, SpecError, WorkBudget, from_caches

#: SGLang's names of grammar kinds
KINDS = ("json", "regex", "ebnf", "full_assistant_ebnf", "structural_tag")


class GrammarText(str):
    """The text of a grammar, with a short repr: SGLang puts it into messages."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"<{len(self):,} characters>"


@dataclass(frozen=True, slots=True)
class ThinkingRegion:
    """A region of thinking before the answer. ``most``: tokens; None: no bound. ``excludes``: texts
    that it must not contain.
    """

    end: str
    most: int | None = None
    excludes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Whitespace:
    """White space between the tokens of a JSON answer: at most ``most`` characters, of which a line
    feed is the first if there are several; None: the engine's default. ``is_spaced``: exactly a
    space behind each comma and colon.
    """

    most: int | None = None
    is_spaced: bool = False


#: white space of the engine's default
FLEXIBLE = Whitespace()


@dataclass(frozen=True, slots=True)
class GrammarSpec:
    """Everything that determines a grammar; equal specs share one compile.

    ``namespace``: of the caches, "" the shared one.
    """

    kind: str
    text: str
    thinking: ThinkingRegion | None = None
    whitespace: Whitespace = FLEXIBLE
    namespace: str = ""


def compile_grammar(
    compiler: Compiler, spec: GrammarSpec, budget: WorkBudget | None = None
) -> Compiled:
    """Compile the spec.

    Raises:
        SpecError, LimitExceeded, Cancelled: see ``engine.Compiler``.
    """
    kind, text, thinking = spec.kind, spec.text, spec.thinking
    if kind not in KINDS:
        raise SpecError(f"grammars of the kind {kind!r} are unknown")
    if thinking is None and kind == "json" and spec.whitespace == FLEXIBLE:
        return compiler.compile_json_schema(text, budget=budget)
    if thinking is None and kind == "regex":
        return compiler.compile_regex(text, budget=budget)
    if thinking is None and kind in ("ebnf", "full_assistant_ebnf"):
        return compiler.compile_grammar(text, "ebnf", budget=budget)
    # the text is parsed only if the compiler has no grammar for the key
    region = None if thinking is None else (thinking.end, thinking.most, *thinking.excludes)
    space = (spec.whitespace.most, spec.whitespace.is_spaced)
    return compiler.compile_structural_tag(
        partial(_structural_tag, compiler, spec),
        key=(kind, text, region, space),
        budget=budget,
    )


def find_grammar(compiler: Compiler, spec: GrammarSpec) -> Compiled | None:
    """Return the grammar if the compiler still keeps it; never compile, and never wait.

    Raises:
        SpecError, LimitExceeded: the compiler keeps a refusal of the spec.
    """
    return from_caches(partial(compile_grammar, compiler, spec))


def _structural_tag(compiler: Compiler, spec: GrammarSpec) -> dict[str, Any]:
    if spec.thinking is not None:
        return _behind(spec.thinking, compiler, spec)
    if spec.kind == "structural_tag":
        tag: dict[str, Any] = _tag(compiler.parse(spec.text))
        return tag
    return {"format": _format(compiler, spec)}


def _tag(spec: Any) -> Any:
    """Return SGLang's older form of structural tags (structures, triggers) in today's form, other
    specs unchanged.
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


def _behind(thinking: ThinkingRegion, compiler: Compiler, spec: GrammarSpec) -> dict[str, Any]:
    """Return a structural tag of a region of thinking and the grammar behind it."""
    thought: dict[str, Any] = {"type": "any_text"}
    if thinking.most is not None:
        thought["max_tokens"] = thinking.most
    if thinking.excludes:
        thought["excludes"] = list(thinking.excludes)
    region = {"type": "tag", "begin": "", "content": thought, "end": thinking.end}
    answer = _format(compiler, spec)
    return {"type": "structural_tag", "format": {"type": "sequence", "elements": [region, answer]}}


def _format(compiler: Compiler, spec: GrammarSpec) -> Any:
    kind, text = spec.kind, spec.text
    if kind == "json":
        return {
            "type": "json_schema",
            "json_schema": compiler.parse(text),
            **_space(spec.whitespace),
        }
    if kind == "regex":
        return {"type": "regex", "pattern": text}
    if kind == "structural_tag":
        tag = _tag(compiler.parse(text))
        if not isinstance(tag, dict) or "format" not in tag:
            raise SpecError("a structural tag needs a format")
        return tag["format"]
    return {"type": "grammar", "grammar": text}


def _space(whitespace: Whitespace) -> dict[str, Any]:
    """Return the fields of a JSON schema's white space."""
    if whitespace.is_spaced:
        return {"switchyard": {"version": SPEC_VERSION, "separators": [", ", ": "]}}
    return {} if whitespace.most is None else {"max_whitespace_cnt": whitespace.most}
