"""The backend answers SGLang's grammar manager: what is there, what comes later, what never."""

import json
import types
from concurrent.futures import Future
from typing import Any

import pytest

pytest.importorskip("torch", reason="the SGLang worker's own environment has torch")
pytest.importorskip("sglang", reason="the SGLang worker's own environment has SGLang")

from sglang.srt.constrained.base_grammar_backend import InvalidGrammarObject

from adapters.sglang_plugin import backend as module
from adapters.sglang_plugin import register, versions
from adapters.sglang_plugin.backend import (
    SwitchyardBackend,
    create,
    see_request,
    short_key,
    status_here,
)
from adapters.sglang_plugin.grammar import SwitchyardGrammar
from adapters.sglang_plugin.internals import load
from adapters.sglang_plugin.mask_buffers import MaskBuffers
from adapters.sglang_plugin.options import Options
from adapters.sglang_plugin.settings import Settings
from adapters.sglang_plugin.tokenizers import UnsupportedTokenizer
from adapters.sglang_plugin.versions import RequestFacts
from engine import SPEC_VERSION, Compiler
from tests.engine.frontends.random_schemas import STOP, byte_vocabulary

from .standins import byte_level, no_kernel, word_piece


@pytest.fixture
def backend() -> SwitchyardBackend:
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    return SwitchyardBackend(
        Compiler(byte_vocabulary()), masks, Settings(), Options("</think>", excludes=("<call>",))
    )


def asked(
    backend: SwitchyardBackend,
    kind: str,
    text: str,
    *,
    reasoning: bool = False,
    budget: int | None = None,
    covers_reasoning: bool = False,
) -> tuple[Any, bool]:
    """As GrammarManager.process_req_with_grammar and, for a future, get_ready_grammar_requests."""
    assert see_request(backend, RequestFacts(50, budget, covers_reasoning))
    key = (kind, text)
    value, hit = backend.get_cached_or_future_value(key, reasoning)
    if isinstance(value, Future):
        assert not hit
        value = value.result(60)
        backend.set_cache(key, value.copy())
    return value, hit


def takes(made: Any, text: str) -> bool:
    try:
        for token in (*text.encode(), STOP):
            made.accept_token(token)
    except ValueError:
        return False
    return bool(made.is_terminated())


@pytest.mark.parametrize(
    ("kind", "text", "good"),
    [
        ("json", '{"const":1}', "1"),
        ("regex", "a+", "aa"),
        ("ebnf", 'root ::= "x"', "x"),
        ("structural_tag", '{"format":{"type":"const_string","value":"v"}}', "v"),
    ],
)
def test_a_grammar_is_compiled_once_and_then_known(
    backend: SwitchyardBackend, kind: str, text: str, good: str
) -> None:
    first, hit = asked(backend, kind, text)
    assert not hit and takes(first, good)
    second, hit = asked(backend, kind, text)
    assert hit and second is not first and takes(second, good) and not takes(second.copy(), "?")
    backend.reset()
    assert not asked(backend, kind, text)[1]
    assert takes(getattr(backend, f"dispatch_{kind}")(text), good)


def test_thinking_goes_first_where_the_request_says_so(backend: SwitchyardBackend) -> None:
    plain, _ = asked(backend, "json", '{"const":1}')
    thinking, hit = asked(backend, "json", '{"const":1}', reasoning=True)
    assert not hit
    assert takes(plain, "1") and not takes(plain.copy(), "hm</think>1")
    assert takes(thinking, "hm</think>1") and not takes(thinking.copy(), "1")
    short, hit = asked(backend, "json", '{"const":1}', reasoning=True, budget=1)
    assert not hit and takes(short, "h</think>1") and not takes(short.copy(), "hm</think>1")
    # a grammar of the whole answer has its own
    whole, _ = asked(backend, "full_assistant_ebnf", 'root ::= "x"', reasoning=True)
    assert takes(whole, "x")
    whole, _ = asked(backend, "regex", "x", reasoning=True, covers_reasoning=True)
    assert takes(whole, "x")


def test_thinking_has_no_excluded_text(backend: SwitchyardBackend) -> None:
    made, _ = asked(backend, "regex", "<call>", reasoning=True)
    assert takes(made, "<cal l></think><call>") and not takes(made.copy(), "<call></think><call>")


@pytest.mark.parametrize(
    ("kind", "text", "words"),
    [
        ("json", "{", "not JSON"),
        ("json", '{"type":"a\x00b"}', "not JSON"),
        ("regex", "(", "."),
        ("ebnf", "", "root"),
        ("structural_tag", "{}", "."),
        ("json", '{"type":"string","pattern":"' + "a" * 30_000 + '"}', "pattern_chars"),
        ("outlines", "x", "unknown"),
    ],
)
def test_a_refusal_is_an_invalid_grammar_and_kept_by_the_compiler(
    backend: SwitchyardBackend, kind: str, text: str, words: str
) -> None:
    for was_asked_before in (False, True):
        made, hit = asked(backend, kind, text)
        assert isinstance(made, InvalidGrammarObject)
        # an unknown kind never reaches the compiler
        assert hit == (was_asked_before or kind == "outlines")
        assert words in made.error_message or words == "."
        assert len(made.error_message) <= module.MESSAGE_CHARS


def test_a_time_out_poisons_nothing(backend: SwitchyardBackend) -> None:
    backend.set_cache(("regex", "a"), InvalidGrammarObject("Grammar preprocessing timed out"))
    made, _ = asked(backend, "regex", "a")
    assert takes(made, "a")


def test_an_error_of_ours_says_nothing_of_itself_and_is_counted(
    backend: SwitchyardBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> Any:
        raise RuntimeError("secret")

    monkeypatch.setattr(module, "SwitchyardGrammar", fail)
    made = backend.get_cached_or_future_value(("regex", "a"), False)[0].result(60)
    assert isinstance(made, InvalidGrammarObject) and "secret" not in made.error_message
    # and where it is known already
    made, hit = backend.get_cached_or_future_value(("regex", "a"), False)
    assert hit and isinstance(made, InvalidGrammarObject) and "secret" not in made.error_message
    assert backend.shared.counters.errors == 2


# -- SGLang's own manager --------------------------------------------------------------------------
def request(text: str, **custom_params: Any) -> Any:
    given = {"json_schema": text, "regex": None, "ebnf": None, "structural_tag": None}
    params = types.SimpleNamespace(**given, custom_params=custom_params or None)
    return types.SimpleNamespace(
        origin_input_ids=[1, 2], sampling_params=params, require_reasoning=True, grammar=None,
        grammar_key=None,
    )  # fmt: skip


@pytest.fixture
def manager(backend: SwitchyardBackend) -> Any:
    from sglang.srt.constrained.grammar_manager import GrammarManager

    versions.installed().add_request_facts(see_request, short_key)
    versions.installed().add_request_facts(see_request, short_key)  # as once
    made = object.__new__(GrammarManager)
    made.grammar_backend, made.grammar_queue = backend, []
    made._enable_strict_thinking = False
    return made


def test_sglangs_manager_tells_a_requests_prompt_and_bound_of_thinking(manager: Any) -> None:
    for budget, text, good in ((2, "hm</think>1", True), (1, "hm</think>1", False)):
        req = request('{"const":1}', thinking_budget=budget)
        assert manager.process_req_with_grammar(req)
        assert manager.grammar_backend.facts.prompt_tokens == 2
        assert takes(req.grammar.result(60), text) is good


def test_a_key_is_short_in_messages(manager: Any) -> None:
    req = request(f'{{"const":"{"x" * 5000}"}}')
    assert manager.process_req_with_grammar(req)
    key = req.grammar_key
    assert f"{key=}" == "key=('json', <5,012 characters>)"
    assert key == ("json", req.sampling_params.json_schema)
    assert repr(request("1").grammar_key) == "None"


def test_the_requests_of_another_backend_are_left_alone(manager: Any) -> None:
    asked_for: list[Any] = []

    def found(key: Any, require_reasoning: bool) -> Any:
        asked_for.append(key)
        return Future(), False

    def unchanged(key: Any, **_: Any) -> Any:
        return key

    manager.grammar_backend = types.SimpleNamespace(
        get_cached_or_future_value=found, get_request_grammar_key=unchanged
    )
    req = request("x" * 5000)
    assert manager.process_req_with_grammar(req)
    assert asked_for == [req.grammar_key] and "xxx" in repr(req.grammar_key)


# -- the start -------------------------------------------------------------------------------------
@pytest.fixture
def serving(monkeypatch: pytest.MonkeyPatch) -> types.SimpleNamespace:
    """Stand-ins for SGLang's settings, whose runtime context exists only in a server."""
    found = types.SimpleNamespace(strict=False, parser=None, whitespace=(None, None), device="cpu")
    api = versions.SGLangApi
    monkeypatch.setattr(api, "strict_thinking", lambda self: found.strict)
    monkeypatch.setattr(api, "reasoning_parser", lambda self, tokenizer: found.parser)
    monkeypatch.setattr(api, "json_whitespace", lambda self: found.whitespace)
    monkeypatch.setattr(api, "can_pin", lambda self: False)
    monkeypatch.setattr(
        "sglang.srt.runtime_context.get_device", lambda: types.SimpleNamespace(device=found.device)
    )
    return found


def test_the_backend_is_made_of_sglangs_tokenizer(serving: Any) -> None:
    made = create(None, byte_level(), 320, {256})
    assert made.compiler.vocabulary.size == 320
    status = status_here()
    assert status is not None
    assert status["vocabulary"] == made.compiler.vocabulary.fingerprint
    assert (status["backend"], status["spec_version"]) == ("switchyard", SPEC_VERSION)
    json.dumps(status)
    grammar = made.dispatch_json('{"const":"é"}')
    assert isinstance(grammar, SwitchyardGrammar)


def test_masks_are_checked_on_the_device_that_sglang_found(serving: Any) -> None:
    """REGRESSION: the arguments name none unless the command line does, and the check ran on the
    CPU.
    """
    serving.device = "unheard-of"
    with pytest.raises(RuntimeError, match="unheard-of"):
        create(types.SimpleNamespace(device=None), byte_level(), 320, {256})


def test_one_of_several_ranks_makes_nothing_ahead(
    serving: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SWITCHYARD_SGLANG_MASKS_AHEAD", "1")
    alone = create(types.SimpleNamespace(tp_size=1, pp_size=1), byte_level(), 320, {256})
    assert alone.shared.prefetcher is not None
    for sizes in ({"tp_size": 2}, {"pp_size": 2}):
        made = create(types.SimpleNamespace(**sizes), byte_level(), 320, {256})
        assert made.shared.prefetcher is None
        assert made.compilations._settings.prefill_most_ms == 0


def test_what_can_not_start_says_why(serving: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UnsupportedTokenizer, match="neither byte-level"):
        create(None, word_piece(), 10, None)
    with pytest.raises(UnsupportedTokenizer, match=r"size must be >= 258, .*got 257"):
        create(None, byte_level(), 257, None)
    monkeypatch.setenv("SWITCHYARD_CACHE_TRUST", "all")
    with pytest.raises(ValueError, match="SWITCHYARD_CACHE_TRUST"):
        create(None, byte_level(), 320, None)


def test_registering_twice_is_as_once() -> None:
    from sglang.srt.constrained.base_grammar_backend import GRAMMAR_BACKEND_REGISTRY
    from sglang.srt.plugins.hook_registry import HookRegistry

    for _ in range(2):
        register()
    assert load("choices").count("switchyard") == 1
    assert "switchyard" in GRAMMAR_BACKEND_REGISTRY
    hooks = [hook for target, hook in HookRegistry._hooks.items() if "get_internal_state" in target]
    assert [len(each) for each in hooks] == [1]


def test_the_tree_walk_is_put_in_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from sglang.srt.speculative import spec_utils

    api, ours, theirs = versions.check(), [], []

    def walk(*args: Any) -> bool:
        ours.append(args)
        return args[0] == "ours"

    monkeypatch.setattr(spec_utils, "traverse_tree", lambda *args: theirs.append(args))
    for each in (walk, lambda *args: False):
        api.add_tree_walk(each)
    for grammar in ("ours", "theirs"):
        spec_utils.traverse_tree("next", "sibling", "draft", grammar, "mask", 10)
    assert ours == [(name, "next", "sibling", "draft", "mask") for name in ("ours", "theirs")]
    assert theirs == [("next", "sibling", "draft", "theirs", "mask", 10)]


NAMED = '{"namespace":"%s","type":"structural_tag","format":{"type":"const_string","value":"v"}}'


def test_specs_with_a_namespace_are_compiled_apart() -> None:
    masks = MaskBuffers(can_pin=False, device_kernel=no_kernel)
    settings = Settings(cache_namespace="key", cache_namespaces=2)
    compiler = Compiler(byte_vocabulary(), avoid_detours=False)
    backend = SwitchyardBackend(compiler, masks, settings)
    for name in "12":
        made, hit = asked(backend, "structural_tag", NAMED % (name * 32))
        assert not hit and takes(made, "v")
        assert asked(backend, "structural_tag", NAMED % (name * 32))[1]
    assert takes(backend.dispatch_structural_tag(NAMED % ("1" * 32)), "v")
    assert backend.compilers.stats()["namespaces"] == 2
    assert not any(compiler.avoid_detours for compiler in backend.compilers)
    assert backend.compilations.counts["compiles"] == 2


def test_a_worker_without_namespaces_refuses_them_by_name(backend: SwitchyardBackend) -> None:
    """A gateway finds its status first; a spec may come before the next health check."""
    made, _ = asked(backend, "structural_tag", NAMED % ("1" * 32))
    assert isinstance(made, InvalidGrammarObject)
    assert "SWITCHYARD_CACHE_NAMESPACE=key" in made.error_message
