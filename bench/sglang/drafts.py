"""Tokens per forward pass in tool calls, with and without drafts of forced text.

The model is trained to write the true calls of real tool sets (learnt_model), so that each server
writes the same answers, in its tokenizer's own tokens. Each server is asked for one call at a time,
and for all calls twice: the first time, SGLang's n-grams know only calls of other tools; ``again``,
they know the whole answer. The grammars are the gateway's, for a required call (``hermes``).

plain     no speculation: one pass for each token
n-grams   SGLang's own drafts
forced    SGLang's own drafts, with forced text among them
"""

import json
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from adapters.formats import SPACED, JsonRules, OutputSpec, Tool, for_own_engine, get_format
from tests.sglang.environment import ROOT, ensure_python
from tests.sglang.platforms import SHIMS
from tests.sglang.server import SGLangServer

from ..data import ToolCase
from .figures import show

NGRAM = ("--speculative-algorithm", "NGRAM", "--speculative-ngram-capacity", "100000")
#: by kind: the server's arguments, and its environment
KINDS: dict[str, tuple[Sequence[str], dict[str, str]]] = {
    "plain": ((), {}),
    "n-grams": (NGRAM, {"SWITCHYARD_SGLANG_DRAFTS": "0"}),
    "forced": (NGRAM, {}),
}
HERMES = get_format("hermes")
MAX_TOKENS = 400


class Call(NamedTuple):
    prompt: str
    answer: str
    spec: str


class Passes(NamedTuple):
    """Tokens and passes of one answer, without the first token and its pass (the prompt's)."""

    tokens: int
    passes: int
    is_true: bool


def calls(cases: Sequence[ToolCase]) -> list[Call]:
    """Return the first true call of each tool set."""
    return [_call(number, case) for number, case in enumerate(cases) if case.calls]


def _call(number: int, case: ToolCase) -> Call:
    name, arguments = case.calls[0]
    text = json.dumps({"name": name, "arguments": arguments}, ensure_ascii=False)
    tools = tuple(Tool(each, schema) for each, schema in case.tools)
    output = OutputSpec(
        tools=tools,
        tool_choice="required",
        parallel_tool_calls=False,
        reasoning="off",
        json_rules=JsonRules(layout=SPACED, element_space=True),
    )
    spec = for_own_engine(HERMES.plan(output, ())).spec_json
    return Call(f"call {number}:", f"<tool_call>\n{text}\n</tool_call>", spec)


def measure(cases: Sequence[ToolCase]) -> dict[str, list[Passes]]:
    """Ask servers of all kinds for the calls; print a table, and return the passes by kind."""
    asked = calls(cases)
    found = {}
    with tempfile.TemporaryDirectory(prefix="learnt-") as folder:
        model = _learnt(Path(folder), asked)
        for kind, (arguments, environment) in KINDS.items():
            more = {"PYTHONPATH": str(SHIMS), **environment}
            with SGLangServer(
                ensure_python(), model, "switchyard", *arguments, environment=more
            ) as server:
                found[kind] = [_passes(server, call) for call in asked]
                found[f"{kind}, again"] = [_passes(server, call) for call in asked]
    show(table(found))
    return found


def _learnt(folder: Path, asked: Sequence[Call]) -> Path:
    texts = folder / "texts.json"
    texts.write_text(json.dumps([(call.prompt, call.answer) for call in asked]))
    command = [str(ensure_python()), "-m", "bench.sglang.learnt_model", str(folder), str(texts)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    return folder


def _passes(server: Any, call: Call) -> Passes:
    told = server.generate(call.prompt, max_new_tokens=MAX_TOKENS, structural_tag=call.spec)
    about = told["meta_info"]
    tokens = about["completion_tokens"] - 1
    return Passes(tokens, about.get("spec_verify_ct") or tokens, told["text"] == call.answer)


def table(found: dict[str, list[Passes]]) -> list[list[str]]:
    lines = [["drafts", "calls", "as learnt", "tokens", "passes", "tokens a pass"]]
    for kind, every in found.items():
        tokens, passes = sum(p.tokens for p in every), sum(p.passes for p in every)
        true = sum(p.is_true for p in every)
        rate = f"{tokens / passes:.2f}"
        lines.append([kind, f"{len(every)}", f"{true}", f"{tokens:,}", f"{passes:,}", rate])
    return lines
