"""Templates write kept tools as they write others, and clients share none."""

import gc
import json
import sys
import weakref
from pathlib import Path
from typing import Any

import pytest

from adapters.formats import OutputSpec, Tool
from app.conversation import kept_tools
from app.conversation.kept_tools import (
    MAX_TEXTS,
    KeptList,
    KeptObject,
    KeptTools,
    kept_json,
)
from app.conversation.tokenizer import HuggingFaceTokenizer
from tests.app.small_tokenizer import TEMPLATE, folder

USER = {"role": "user", "content": "Hello"}
OUTPUT = OutputSpec()
DEEP: dict[str, Any] = {}
for _ in range(3000):
    DEEP = {"a": DEEP}
#: tools of which none may be taken for another one
TOOLS: list[tuple[Tool, ...]] = [
    (Tool("a", {}),),
    (Tool("a", {"type": "object"}),),
    (Tool("a", {"type": "object"}, "é <b>"),),
    (Tool("a", {"a": 1, "b": 2}),),
    (Tool("a", {"b": 2, "a": 1}),),
    (Tool("a", {"a": True, "b": 2}),),
    (Tool("a", {"a": 1.0, "b": 2}),),
    (Tool("a", {"a": 1, "b": {"self": None, "texts": "x"}}),),
    (Tool("a", {"self": 1, "texts": 2, "values": {}, "items": []}),),
    (Tool("a", {}), Tool("b", {})),
    (Tool("b", {}), Tool("a", {})),
]
#: what templates may do with tools
WRITTEN = (
    "{{ tools | tojson }}{{ tools | tojson(indent=2) }}{{ tools | string }}{{ tools | length }}",
    "{% for t in tools %}{{ t | tojson }}{{ t | tojson(ensure_ascii=true) }}{{ t }}{% endfor %}",
    "{% for t in tools %}{{ t.function | tojson(indent=4) }}{{ t['function'] | tojson }}"
    "{{ t['texts'] }}{{ t['function']['texts'] }}{% endfor %}{{ tools.texts }}",
    "{% for t in tools %}{{ t.function.parameters | tojson(separators=(',', ':')) }}"
    "{{ t.function.parameters | tojson(separators=[',', ':'], sort_keys=true) }}{% endfor %}",
    "{% for t in tools %}{% for k, v in t.function.parameters.items() %}{{ k }}{{ v | tojson }}"
    "{% endfor %}{{ t.function.parameters is mapping }}{{ t.texts is defined }}{{ t.nothing }}"
    "{{ t.function.parameters.texts }}{{ t.function.name }}{{ t.type }}{{ t['type'] }}{% endfor %}",
    "{% for i in range(9) %}{{ tools | tojson(indent=i) }}{% endfor %}",
    "{{ (tools + [1])[0] | tojson }}{{ tools | map(attribute='function') | list | tojson }}",
)


@pytest.mark.parametrize("written", WRITTEN)
def test_kept_tools_are_written_as_others(tmp_path: Path, written: str) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, TEMPLATE + written))
    wanted = [tokenizer.render([USER], tools, OUTPUT) for tools in TOOLS]
    for _ in range(2):
        got = [tokenizer.render([USER], tools, OUTPUT, {}, "me") for tools in TOOLS]
        assert got == wanted


def test_tools_are_written_once_for_a_client(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tokenizer = HuggingFaceTokenizer(folder(tmp_path, TEMPLATE + WRITTEN[1]))
    made, original = list[Any](), kept_tools.as_functions
    monkeypatch.setattr(kept_tools, "as_functions", lambda tools: made.append(0) or original(tools))
    for client in ("me", "me", "you", None, None):
        tokenizer.render([USER], TOOLS[2], OUTPUT, {}, client)
    assert len(made) == 4


def test_an_output_spec_tells_its_last_tools_from_others() -> None:
    kept, made = KeptTools(), dict[object, Any]()
    asked = [(tools, client) for tools in TOOLS[:3] for client in ("me", "you", None, "me")]
    for tools, client in asked:
        wanted = KeptTools().of(tools, client)
        assert kept.of(tools, client, made) == wanted
    assert kept.of(TOOLS[0], "me", made)[0] is kept.of(TOOLS[0], "me")[0]
    assert kept.of(TOOLS[0], "you", made)[0] is not kept.of(TOOLS[0], "me", made)[0]


@pytest.mark.parametrize(("tools", "client"), [(TOOLS[3], None), ((Tool("a", DEEP),), "me")])
def test_some_tools_are_not_kept(tools: tuple[Tool, ...], client: str | None) -> None:
    kept = KeptTools()
    (first, key), (second, _) = kept.of(tools, client), kept.of(tools, client)
    assert first is not second
    assert key is None


def test_a_value_has_few_texts() -> None:
    (value,), _ = KeptTools().of(TOOLS[0], "me")
    written = [kept_json(lambda _, indent: f"{indent}", value, indent=n) for n in range(9)]
    assert written == [*map(str, range(9))]
    assert len(value._texts) == MAX_TEXTS


def nested(depth: int, leaf: Any) -> Any:
    return leaf if not depth else [nested(depth - 1, leaf)]


#: tools of which a template writes much more than the client has sent
SPREAD: list[tuple[Tool, ...]] = [
    (Tool("a", {"a": nested(150, [True] * 2_000)}),),
    (Tool("a", {"a": "x" * 20_000 + "\N{GRINNING FACE}"}),),
    tuple(Tool(f"f{number}", {}) for number in range(128)),
]


def written(value: Any, **how: Any) -> str:
    return json.dumps(value, ensure_ascii=False, **how)


@pytest.mark.parametrize("tools", SPREAD, ids=["indented", "wide", "many"])
def test_the_texts_of_kept_tools_are_within_what_counts_for_them(tools: tuple[Tool, ...]) -> None:
    """REGRESSION: an entry of 0.25 MB had 12 MB of texts."""
    kept = KeptTools()
    value, _ = kept.of(tools, "me")
    assert isinstance(value, KeptList)
    inner = [each for tool in value for each in (tool, tool["function"])]
    values: list[KeptList | KeptObject] = [value, *inner]
    for each in values:
        for indent in (None, 4):
            assert kept_json(written, each, indent=indent) == written(each, indent=indent)
    texts = [text for each in values for text in each._texts.values()]
    assert sum(map(sys.getsizeof, texts)) < kept._kept.held


def test_tools_that_are_no_longer_kept_are_freed_with_an_output_spec_that_stays() -> None:
    """REGRESSION: specs that are kept held tools beyond the bound on these."""
    kept, made = KeptTools(most_bytes=40_000), dict[object, Any]()
    first = weakref.ref(kept.of(TOOLS[0], "me", made)[0])
    gc.collect()
    assert first() is not None
    for number in range(20):
        kept.of((Tool(f"f{number}", {}),), "me")
    gc.collect()
    assert first() is None
    assert kept.of(TOOLS[0], "me", made) == KeptTools().of(TOOLS[0], "me")
