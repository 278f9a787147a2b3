"""The installed SGLang: whether the plug-in can run in it, and the interfaces that it uses.

Range   any version in which the table of internals holds (internals.py). ``TESTED`` lists the
        versions with which all tests ran; another one is logged, and shown in the worker's status.
"""

import logging
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any

from .internals import faults, load, path_of
from .sources import Sources

#: all tests of the plug-in ran in a real server of these versions, the newest one last
TESTED = ("0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23")

#: missing internals that a refusal names; without sources, all are missing
MOST_MISSING = 5

_log = logging.getLogger(__name__)

Create = Callable[[Any, Any, int, Any], Any]
Status = Callable[[], "dict[str, Any] | None"]


class UnsupportedSGLang(RuntimeError):
    """This version of SGLang lacks internals that the plug-in uses."""


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """The facts that determine a request's grammar besides SGLang's (kind, text).

    ``covers_reasoning``: the grammar describes the whole answer with its reasoning.
    """

    prompt_tokens: int = 0
    thinking_budget: int | None = None
    covers_reasoning: bool = False


@dataclass(slots=True)
class SGLangApi:
    """The interfaces of the installed SGLang that the plug-in uses."""

    version: str

    @property
    def is_tested(self) -> bool:
        """Whether all tests ran with this version."""
        return self.version in TESTED

    def untested(self) -> str:
        """Return the sentence that says that this version was not tested."""
        return (
            f"SGLang {self.version} was not tested with this plug-in ({TESTED[0]} to {TESTED[-1]} "
            "were); it has all internals that the plug-in uses"
        )

    def add_backend(self, name: str, create: Create) -> None:
        """Make ``name`` a choice of ``--grammar-backend`` that calls ``create``."""
        choices: list[str] = load("choices")
        if name not in choices:
            choices.append(name)
        load("register_grammar_backend")(name, create)

    def add_status(self, status: Status) -> None:
        """Add the result of ``status``, called in the scheduler's process, to /server_info at
        ``internal_states[i]["switchyard"]``.
        """

        def extend(result: Any, *_: Any, **__: Any) -> Any:
            found = status()
            if found is not None:
                result.internal_state["switchyard"] = found
            return result

        _hook_once(path_of("get_internal_state"), extend)

    def add_request_facts(
        self, see: Callable[[Any, RequestFacts], bool], shorten: Callable[[Any], Any]
    ) -> None:
        """Call ``see`` with SGLang's backend and the facts of each request, before SGLang asks that
        backend for the request's grammar. Where it is true, replace the request's key, which SGLang
        shows in its messages, by the result of ``shorten``.
        """
        manager_class, process = _owner("process_req_with_grammar")
        if getattr(process, "switchyard", False):
            return

        def process_req_with_grammar(manager: Any, req: Any) -> Any:
            is_ours = see(manager.grammar_backend, self._facts(manager, req))
            is_queued = process(manager, req)
            if is_ours and req.grammar_key is not None:
                req.grammar_key = shorten(req.grammar_key)
            return is_queued

        _patch(manager_class, "process_req_with_grammar", process_req_with_grammar)

    def _facts(self, manager: Any, req: Any) -> RequestFacts:
        return RequestFacts(
            len(req.origin_input_ids),
            manager._get_request_thinking_budget(req),
            self._covers_reasoning(req.sampling_params.custom_params),
        )

    def _covers_reasoning(self, custom_params: Any) -> bool:
        try:
            return bool(load("reasoning_in_grammar")(custom_params))
        except AttributeError:  # before 0.5.23, no request says so
            return False

    def add_tree_walk(self, walk: Callable[..., bool]) -> None:
        """Let ``walk`` fill the masks of draft trees; SGLang fills those for which it is false."""
        module, original = _owner("traverse_tree")
        if getattr(original, "switchyard", False):
            return

        def traverse_tree(
            retrieve_next_token: Any,
            retrieve_next_sibling: Any,
            draft_tokens: Any,
            grammar: Any,
            allocate_token_bitmask: Any,
            *others: Any,
            **options: Any,
        ) -> None:
            tree = (retrieve_next_token, retrieve_next_sibling, draft_tokens)
            if not walk(grammar, *tree, allocate_token_bitmask):
                original(*tree, grammar, allocate_token_bitmask, *others, **options)

        _patch(module, "traverse_tree", traverse_tree)

    def stands_alone(self, server_args: Any) -> bool:
        """Whether no other rank must make the same decisions as this one."""
        ranks = [getattr(server_args, name, 1) or 1 for name in ("tp_size", "pp_size")]
        return all(count == 1 for count in ranks)

    def device(self) -> str:
        """Return the kind of device that computes logits. The server's arguments name it only if
        the command line does.
        """
        return str(load("get_device")().device)

    def speculates_by_ngrams(self, server_args: Any) -> bool:
        """Whether the server uses n-gram speculation."""
        return str(getattr(server_args, "speculative_algorithm", None)).upper() == "NGRAM"

    def add_drafts(self, offer: Callable[[Any, Any, Any], None]) -> None:
        """Call ``offer`` with each batch's (requests, drafts, follows), which it may change."""
        worker_class, original = _owner("prepare_draft_tokens")
        if getattr(original, "switchyard", False):
            return

        def prepare(worker: Any, batch: Any) -> Any:
            drafts, follows = original(worker, batch)
            if batch.has_grammar:
                offer(batch.reqs, drafts, follows)
            return drafts, follows

        _patch(worker_class, "_prepare_draft_tokens", prepare)

    def device_kernel(self) -> Callable[[Any, Any], None]:
        """Return SGLang's kernel that applies a mask on a GPU: (logits, mask)."""
        kernel: Callable[[Any, Any], None] = load("device_kernel")
        return kernel

    def can_pin(self) -> bool:
        """Whether host memory can be pinned for copies to the device."""
        return bool(load("is_pin_memory_available")())

    def set_bits(self, mask: Any, tokens: list[int], row: int, **options: bool) -> None:
        """Allow tokens in a row of a mask, or forbid them, as SGLang does."""
        load("set_token_filter_torch")(mask, tokens, row, **options)

    def reasoning_parser(self, tokenizer: Any) -> Any:
        """Return the server's reasoning parser; None: there is none."""
        name = load("get_serving")().reasoning_parser
        if not name:
            return None
        parser = load("ReasoningParser")
        return parser(model_type=name, stream_reasoning=False, tokenizer=tokenizer)

    def strict_thinking(self) -> bool:
        """Whether the server runs with ``--enable-strict-thinking``."""
        return bool(load("get_serving")().enable_strict_thinking)

    def strict_filter(self, backend: Any, parser: Any, tokenizer: Any) -> Any:
        """Return SGLang's maker of filters for the thinking of requests without a grammar."""
        return load("reasoner_backend")(backend, parser, tokenizer, enable_strict_thinking=True)

    def json_whitespace(self) -> tuple[int | None, str | None]:
        """Return the server's options for white space in JSON: maximum characters, a pattern."""
        serving = load("get_serving")()
        most = 0 if serving.constrained_json_disable_any_whitespace else None
        if most is None:  # before 0.5.21, there is no such option
            most = getattr(serving, "constrained_json_max_whitespace_cnt", None)
        return most, serving.constrained_json_whitespace_pattern

    def most_thinking(self) -> int | None:
        """Return the bound of ``SGLANG_MAX_THINK_TOKENS`` in tokens; None: no bound."""
        most: int = load("envs").SGLANG_MAX_THINK_TOKENS.get()
        return most if most >= 0 else None


def _owner(key: str) -> tuple[Any, Any]:
    """Return the module or class that has a function of the table, and the function."""
    path, _, name = path_of(key).rpartition(".")
    owner = pkgutil.resolve_name(path)
    return owner, getattr(owner, name)


def _patch(owner: Any, name: str, ours: Any) -> None:
    ours.switchyard = True
    setattr(owner, name, ours)


def _hook_once(target: str, hook: Callable[..., Any]) -> None:
    """Install a hook behind a method, unless one of ours is installed."""
    known = [each for _, each, _ in load("hooks").get(target, ())]
    if not any(getattr(each, "switchyard", False) for each in known):
        hook.switchyard = True  # type: ignore[attr-defined]
        load("HookRegistry")(target, hook, load("HookType"))


def installed() -> SGLangApi:
    """Return the interfaces of the installed SGLang, unchecked."""
    return SGLangApi(metadata.version("sglang"))


def check() -> SGLangApi:
    """Return the interfaces of the installed SGLang.

    Raises:
        UnsupportedSGLang: a piece of the table is missing; the message names it.
    """
    api = installed()
    missing = faults(Sources.installed())
    if missing:
        raise UnsupportedSGLang(refusal(api.version, [str(each) for each in missing]))
    if not api.is_tested:
        _log.warning("switchyard: %s", api.untested())
    return api


def refusal(version: str, missing: list[str]) -> str:
    """Return the sentences with which a server's startup aborts."""
    more = len(missing) - MOST_MISSING
    shown = [*missing[:MOST_MISSING], *([f"and {more} more internals"] if more > 0 else [])]
    return (
        f"The grammar backend 'switchyard' cannot run in SGLang {version}, which lacks "
        f"{'; '.join(shown)}. The last version known to have all is {TESTED[-1]}: install it, "
        "or a newer version of switchyard."
    )
