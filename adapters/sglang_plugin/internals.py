"""The table of SGLang's internals that the plug-in uses: names, parameters, fields and calls.

    Function   called or wrapped by the plug-in, or overridden by one of its classes
    Value      a constant, or a name that is only looked up
    Fields     of a class; and its abstract methods, which a subclass must have
    Call       by which SGLang reaches a method or a patch of the plug-in

Representation   a piece is one internal with its purpose. Its ways are alternatives of different
                 versions of SGLang; one of them is enough. An optional piece may be absent: then
                 SGLang has no such feature. Comments say since or until when a way exists.
Invariants       the table holds in every version of ``versions.TESTED``. The plug-in runs in any
                 version where it holds.
Cost             ``faults`` reads SGLang's sources (sources.py), 0.4 s of CPU. Nothing is imported.
Not here         behaviour behind unchanged names: mask_check sees a part of it, the tests of the
                 server the rest.
"""

import pkgutil
from dataclasses import dataclass
from typing import Any, Final

from .sources import Sources, abstract, parameters, returned

#: how sources differ that lack a name
_ABSENT: Final = "no such name"
_SRT: Final = "sglang.srt."
_ARGS: Final = _SRT + "server_args"
_BASE: Final = _SRT + "constrained.base_grammar_backend"
_BATCH: Final = _SRT + "managers.schedule_batch"
_ENVIRON: Final = _SRT + "environ"
_HOOKS: Final = _SRT + "plugins.hook_registry"
_MANAGER: Final = _SRT + "constrained.grammar_manager"
_NGRAM: Final = _SRT + "speculative.ngram_worker"
_PARAMS: Final = _SRT + "sampling.sampling_params"
_PARSER: Final = _SRT + "parser.reasoning_parser"
_REASONER: Final = _SRT + "constrained.reasoner_grammar_backend"
_SAMPLING: Final = _SRT + "sampling.sampling_batch_info"
_SCHEDULER: Final = _SRT + "managers.scheduler"
_SERVING: Final = _SRT + "arg_groups.fields.serving"
_TREES: Final = _SRT + "speculative.spec_utils"


@dataclass(frozen=True, slots=True)
class Function:
    """A function that takes ``positional`` in this order, then ``keywords`` in any order, and needs
    no others. ``overridden``: it takes exactly these. ``returns``: elements of the returned tuple.
    """

    module: str
    name: str
    positional: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    overridden: bool = False
    returns: int = 0

    def __str__(self) -> str:
        result = f" -> {self.returns} values" if self.returns else ""
        return f"{self.module}: {self.name}({', '.join(self.positional + self.keywords)}){result}"

    def fault(self, sources: Sources) -> str | None:
        """Return how the sources differ; None: they do not."""
        definition = sources.value(self.module, self.name)
        found = parameters(definition)
        if found is None:
            return _ABSENT
        names, required = found
        first, passed = names[: len(self.positional)], {*self.positional, *self.keywords}
        fits = first == self.positional and passed <= {*names} and {*names[:required]} <= passed
        if not fits or (self.overridden and {*names} != passed):
            return f"its parameters are ({', '.join(names)})"
        if self.returns:
            lengths = [len(getattr(each, "elts", ())) for each in returned(definition)]
            if not lengths or any(length != self.returns for length in lengths):
                return f"it returns {', '.join(map(str, lengths))} values"
        return None


@dataclass(frozen=True, slots=True)
class Value:
    """A name that a module or a class binds."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}: {self.name}"

    def fault(self, sources: Sources) -> str | None:
        """Return how the sources differ; None: they do not."""
        return None if sources.value(self.module, self.name) is not None else _ABSENT


@dataclass(frozen=True, slots=True)
class Fields:
    """Attributes of a class. ``overrides``: names of its abstract methods that SGLang does not call
    or that the plug-in overrides; any other one is a fault.
    """

    module: str
    name: str
    fields: tuple[str, ...] = ()
    overrides: tuple[str, ...] | None = None

    def __str__(self) -> str:
        return f"{self.module}: {self.name} with {', '.join(self.fields)}"

    def fault(self, sources: Sources) -> str | None:
        """Return how the sources differ; None: they do not."""
        definition = sources.value(self.module, self.name)
        if definition is None:
            return _ABSENT
        missing = [
            each for each in self.fields if each not in sources.fields(self.module, self.name)
        ]
        if missing:
            return f"it has no {', '.join(missing)}"
        if self.overrides is None:
            return None
        new = sorted(abstract(definition) - {*self.overrides})
        return f"it has new abstract methods: {', '.join(new)}" if new else None


@dataclass(frozen=True, slots=True)
class Call:
    """Calls of ``callee`` inside a function, or anywhere in a module. Each binds ``parameters``, by
    position or by name, and may bind ``optional`` ones.
    """

    module: str
    name: str
    callee: str
    parameters: tuple[str, ...]
    optional: tuple[str, ...] = ()

    def __str__(self) -> str:
        place = f"{self.name} calls " if self.name else "a call of "
        return f"{self.module}: {place}{self.callee}({', '.join(self.parameters)})"

    def fault(self, sources: Sources) -> str | None:
        """Return how the sources differ; None: they do not."""
        calls = sources.calls(self.module, self.name, self.callee)
        if not calls:
            return "no such call"
        known = self.parameters + self.optional
        for call in calls:
            named = [each.arg for each in call.keywords]
            bound = {*known[: len(call.args)], *named}
            if len(call.args) > len(known) or not {*self.parameters} <= bound <= {*known}:
                return f"a call passes {len(call.args)} arguments and {named or 'no keywords'}"
        return None


Way = Function | Value | Fields | Call


@dataclass(frozen=True, slots=True)
class Piece:
    """One internal. ``purpose``: what the plug-in does with it."""

    key: str
    purpose: str
    ways: tuple[Way, ...]
    optional: bool = False

    def __str__(self) -> str:
        return ", or ".join(map(str, self.ways))


@dataclass(frozen=True, slots=True)
class Fault:
    """A piece that a version of SGLang lacks, and how each of its ways differs."""

    piece: Piece
    differences: tuple[str, ...]

    @property
    def is_absent(self) -> bool:
        """Whether no way of the piece exists at all."""
        return {*self.differences} == {_ABSENT}

    def __str__(self) -> str:
        ways = zip(self.piece.ways, self.differences, strict=True)
        shown = ", or ".join(f"{way} ({difference})" for way, difference in ways)
        return f"{shown}, with which the plug-in {self.piece.purpose}"


def _piece(key: str, purpose: str, *ways: Way, optional: bool = False) -> Piece:
    return Piece(key, purpose, ways, optional)


def _overridden(kind: str, name: str, *taken: str) -> Way:
    return Function(_BASE, f"{kind}.{name}", taken, overridden=True)


_BACKEND: Final = "BaseGrammarBackend"
_OBJECT: Final = "BaseGrammarObject"
_TREE: Final = ("retrieve_next_token", "retrieve_next_sibling", "draft_tokens", "grammar",
                "allocate_token_bitmask")  # fmt: skip
_MASK: Final = ("vocab_size", "batch_size", "device")
_UPDATE: Final = "SamplingBatchInfo.update_regex_vocab_mask"
_CREATED: Final = ("server_args", "tokenizer", "vocab_size", "eos_token_ids")
_OPTIONS: Final = ("reasoning_parser", "enable_strict_thinking",
                   "constrained_json_whitespace_pattern",
                   "constrained_json_disable_any_whitespace")  # fmt: skip
_FILTER: Final = ("vocab_mask", "token_ids", "batch_idx", "is_allowed", "reset_vocab_mask")
#: abstract methods of SGLang's grammar objects that nothing calls for the plug-in's masks
_UNCALLED: Final = ("reset_vocab_mask", "try_jump_forward", "jump_forward_str_state",
                    "jump_and_retokenize")  # fmt: skip

# fmt: off
TABLE: Final = (
    # -- registration
    _piece("choices", "becomes a choice of --grammar-backend",
           Value(_SRT + "arg_groups.choices", "GRAMMAR_BACKEND_CHOICES"),  # since 0.5.20
           Value(_ARGS, "GRAMMAR_BACKEND_CHOICES")),  # until 0.5.19
    _piece("register_grammar_backend", "registers the function that makes its backend",
           Function(_BASE, "register_grammar_backend", ("name", "init_func"))),
    _piece("create_grammar_backend", "is asked for its backend",
           Call(_BASE, "create_grammar_backend", "GRAMMAR_BACKEND_REGISTRY", _CREATED)),
    _piece("HookRegistry", "installs the hook of its status",
           Function(_HOOKS, "HookRegistry.register", ("target", "hook", "hook_type"))),
    _piece("hooks", "finds out whether the hook of its status is installed",
           Value(_HOOKS, "HookRegistry._hooks")),
    _piece("HookType", "installs the hook of its status behind the original",
           Value(_HOOKS, "HookType.AFTER")),
    # -- the status in /server_info
    _piece("get_internal_state", "adds its status to /server_info",
           Function(_SRT + "managers.scheduler_components.internal_state",  # since 0.5.22
                    "SchedulerInternalStateController.get_internal_state", ("recv_req",)),
           Function(_SCHEDULER, "Scheduler.get_internal_state", ("recv_req",))),  # until 0.5.21
    _piece("internal_state", "adds its status to /server_info",
           Fields(_SRT + "managers.io_struct", "GetInternalStateReqOutput", ("internal_state",))),
    # -- requests
    _piece("BaseGrammarBackend", "derives its backend",
           Fields(_BASE, _BACKEND, ("enable_strict_thinking", "_enable_strict_thinking"),
                  overrides=())),
    _piece("get_cached_or_future_value", "returns the grammar of a request",
           _overridden(_BACKEND, "get_cached_or_future_value", "key", "require_reasoning")),
    _piece("set_cache", "keeps failures out of SGLang's cache",
           _overridden(_BACKEND, "set_cache", "key", "value")),
    _piece("reset", "drops its grammars when the server's cache is flushed",
           _overridden(_BACKEND, "reset")),
    _piece("dispatch", "compiles a JSON schema for SGLang",
           _overridden(_BACKEND, "dispatch_json", "key_string")),
    _piece("process_req_with_grammar", "learns a request's prompt and bound of thinking",
           Function(_MANAGER, "GrammarManager.process_req_with_grammar", ("req",))),
    _piece("process_call", "learns a request's prompt and bound of thinking",
           Call(_SCHEDULER, "", "process_req_with_grammar", ("req",))),
    _piece("thinking_budget", "learns a request's bound of thinking",
           Function(_MANAGER, "GrammarManager._get_request_thinking_budget", ("req",))),
    _piece("get_call", "is asked for the grammar of a request",
           Call(_MANAGER, "GrammarManager.process_req_with_grammar",
                "get_cached_or_future_value", ("key", "require_reasoning"))),
    _piece("strict_call", "is asked for the filter of a thinking request without a grammar",
           Call(_MANAGER, "GrammarManager.process_req_with_grammar",
                "init_strict_reasoning_grammar", ("reasoning",))),
    _piece("Req", "reads a request's prompt and grammar",
           Fields(_BATCH, "Req",
                  ("origin_input_ids", "sampling_params", "grammar", "grammar_key"))),
    _piece("custom_params", "learns whether a request's grammar describes its reasoning",
           Fields(_PARAMS, "SamplingParams", ("custom_params",))),
    _piece("reasoning_in_grammar", "learns whether a request's grammar describes its reasoning",
           Function(_PARAMS, "get_request_reasoning_in_grammar", ("custom_params",)),  # 0.5.23
           optional=True),
    # -- grammars
    _piece("BaseGrammarObject", "derives its grammars",
           Fields(_BASE, _OBJECT, ("current_token", "grammar_stats", "finished"),
                  ("accept_token", "rollback", "allocate_vocab_mask", "fill_vocab_mask",
                   "move_vocab_mask", "apply_vocab_mask", *_UNCALLED))),
    _piece("accept_token", "checks a token", _overridden(_OBJECT, "accept_token", "token")),
    _piece("rollback", "takes tokens back", _overridden(_OBJECT, "rollback", "k")),
    _piece("is_terminated", "says that an answer has ended", _overridden(_OBJECT, "is_terminated")),
    _piece("copy", "copies a grammar", _overridden(_OBJECT, "copy")),
    _piece("allocate_vocab_mask", "makes the masks of a batch",
           _overridden(_OBJECT, "allocate_vocab_mask", *_MASK)),
    _piece("fill_vocab_mask", "fills a mask",
           _overridden(_OBJECT, "fill_vocab_mask", "vocab_mask", "idx")),
    _piece("fill_vocab_mask_batched", "fills the masks of a batch",
           _overridden(_OBJECT, "fill_vocab_mask_batched", "entries", "vocab_mask")),
    _piece("move_vocab_mask", "copies masks to the device",
           _overridden(_OBJECT, "move_vocab_mask", "vocab_mask", "device")),
    _piece("apply_vocab_mask", "applies masks to logits",
           _overridden(_OBJECT, "apply_vocab_mask", "logits", "vocab_mask")),
    _piece("GrammarRow", "learns which row of a batch a grammar fills",
           Fields(_BASE, "GrammarRow", ("row", "grammar"))),
    _piece("GrammarStats", "reports cached grammars to SGLang's metrics",
           Fields(_BASE, "GrammarStats", ("is_cache_hit", "dispatch_type"))),
    _piece("InvalidGrammarObject", "refuses a grammar",
           Function(_BASE, "InvalidGrammarObject.__init__", ("error_message",))),
    # -- SGLang's calls for a step
    _piece("allocate_call", "is asked for the masks of a batch",
           Call(_SAMPLING, _UPDATE, "allocate_vocab_mask", _MASK)),
    _piece("fill_call", "is asked to fill the masks of a batch",
           Call(_SAMPLING, _UPDATE, "fill_vocab_mask_batched", ("entries", "vocab_mask"))),
    _piece("move_call", "is asked to copy masks to the device",
           Call(_SAMPLING, _UPDATE, "move_vocab_mask", ("vocab_mask", "device"))),
    _piece("apply_call", "is asked to apply masks to logits",
           Call(_BASE, "GrammarMask.apply", "apply_vocab_mask", ("logits", "vocab_mask"))),
    _piece("accept_call", "receives each token of an answer",
           Call(_SRT + "managers.scheduler_components.batch_result_processor", "", "accept_token",
                ("token",))),
    _piece("prefill_call", "receives the first token of an answer on a prefill server",
           Call(_SRT + "disaggregation.prefill", "", "accept_token", ("token",))),
    _piece("decode_call", "receives the first token of an answer on a decode server",
           Call(_SRT + "disaggregation.decode_schedule_batch_mixin", "", "accept_token",
                ("token",))),
    _piece("terminated_call", "is asked whether an answer has ended",
           Call(_BATCH, "", "is_terminated", ())),
    # -- draft trees and drafts
    _piece("traverse_tree", "fills the masks of draft trees",
           Function(_TREES, "traverse_tree", _TREE, ("vocab_size",))),
    _piece("tree_call", "is asked for the masks of draft trees",
           Call(_TREES, "generate_token_bitmask", "traverse_tree", _TREE, ("vocab_size",))),
    _piece("prepare_draft_tokens", "drafts forced text",
           Function(_NGRAM, "NGRAMWorker._prepare_draft_tokens", ("batch",), returns=2)),
    _piece("prepare_call", "drafts forced text",
           Call(_NGRAM, "", "_prepare_draft_tokens", ("batch",))),
    _piece("ScheduleBatch", "drafts forced text for the requests of a batch",
           Fields(_BATCH, "ScheduleBatch", ("reqs", "has_grammar"))),
    # -- masks on a device
    _piece("device_kernel", "applies masks on a GPU",
           Function("sglang.kernels.ops.grammar.bitmask_ops", "apply_token_bitmask_inplace_triton",
                    ("logits", "bitmask"))),
    _piece("is_pin_memory_available", "decides whether masks lie in pinned memory",
           Function(_SRT + "utils.common", "is_pin_memory_available")),
    _piece("set_token_filter_torch", "compares its masks with SGLang's, and filters thinking",
           Function(_SRT + "constrained.torch_ops.token_filter_torch_ops", "set_token_filter_torch",
                    _FILTER)),
    # -- the server's options
    _piece("get_serving", "reads the server's options",
           Function(_SRT + "runtime_context", "get_serving")),
    _piece("serving_fields", "reads the options for thinking and white space",
           Fields(_SERVING, "Serving", _OPTIONS),
           Fields(_ARGS, "ServerArgs", _OPTIONS)),
    _piece("max_whitespace", "reads --constrained-json-max-whitespace-cnt",
           Value(_SERVING, "Serving.constrained_json_max_whitespace_cnt"),  # since 0.5.21
           optional=True),
    _piece("ranks", "decides whether other ranks must have the same masks",
           Fields(_SRT + "arg_groups.fields.parallel", "Parallel", ("tp_size", "pp_size")),
           Fields(_ARGS, "ServerArgs", ("tp_size", "pp_size"))),
    _piece("speculative_algorithm", "decides whether to draft forced text",
           Fields(_SRT + "arg_groups.fields.spec", "Spec", ("speculative_algorithm",)),
           Fields(_ARGS, "ServerArgs", ("speculative_algorithm",))),
    _piece("get_device", "checks its masks on the server's device",
           Function(_SRT + "runtime_context", "get_device")),
    _piece("device", "checks its masks on the server's device",
           Fields(_SRT + "arg_groups.fields.device", "Device", ("device",)),
           Fields(_ARGS, "ServerArgs", ("device",))),
    _piece("envs", "reads SGLANG_MAX_THINK_TOKENS", Value(_ENVIRON, "envs")),
    _piece("max_think_tokens", "reads SGLANG_MAX_THINK_TOKENS",
           Value(_ENVIRON, "Envs.SGLANG_MAX_THINK_TOKENS")),
    # -- thinking
    _piece("reasoning_parameters", "finds the text that ends thinking",
           Function(_PARSER, "ReasoningParser.__init__", (),
                    ("model_type", "stream_reasoning", "tokenizer"))),
    _piece("ReasoningParser", "finds the text that ends thinking",
           Fields(_PARSER, "ReasoningParser", ("detector",))),
    _piece("think_end_token", "finds the text that ends thinking, and texts that it must not have",
           Fields(_PARSER, "BaseReasoningFormatDetector",
                  ("think_end_token", "think_excluded_tokens"))),
    _piece("reasoner_backend", "filters the thinking of requests without a grammar",
           Value(_REASONER, "ReasonerGrammarBackend")),
    _piece("reasoner_parameters", "filters the thinking of requests without a grammar",
           Function(_REASONER, "ReasonerGrammarBackend.__init__",
                    ("grammar_backend", "reasoning_parser", "tokenizer"),
                    ("enable_strict_thinking",))),
    _piece("init_strict_reasoning_grammar", "filters the thinking of requests without a grammar",
           Function(_REASONER, "ReasonerGrammarBackend.init_strict_reasoning_grammar",
                    ("reasoning",))),
    _piece("strict_overridden", "filters the thinking of requests without a grammar",
           _overridden(_BACKEND, "init_strict_reasoning_grammar", "reasoning")),
    _piece("set_token_filter", "filters the thinking of requests without a grammar",
           _overridden(_BACKEND, "set_token_filter", *_FILTER)),
)
# fmt: on


def faults(sources: Sources) -> list[Fault]:
    """Return the pieces that a version of SGLang lacks. An optional one is lacking if it exists and
    differs.
    """
    found = (fault for piece in TABLE if (fault := fault_of(piece, sources)) is not None)
    return [fault for fault in found if not (fault.piece.optional and fault.is_absent)]


def fault_of(piece: Piece, sources: Sources) -> Fault | None:
    """Return how a version of SGLang differs from a piece; None: one of its ways holds."""
    differences = []
    for way in piece.ways:
        difference = way.fault(sources)
        if difference is None:
            return None
        differences.append(difference)
    return Fault(piece, tuple(differences))


def load(key: str) -> Any:
    """Import a piece.

    Raises:
        ImportError, AttributeError: no way of it exists.
    """
    return _here(key)[1]


def path_of(key: str) -> str:
    """Return the dotted path of a piece in the SGLang of this process. Raises as ``load``."""
    way, _ = _here(key)
    return f"{way.module}.{way.name}"


def _here(key: str) -> tuple[Way, Any]:
    (piece,) = (each for each in TABLE if each.key == key)
    *others, last = piece.ways
    for way in others:
        try:
            return way, pkgutil.resolve_name(f"{way.module}:{way.name}")
        except (ImportError, AttributeError):
            continue
    return last, pkgutil.resolve_name(f"{last.module}:{last.name}")
