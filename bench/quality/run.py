"""A run: every case in every way, with one model in memory at a time."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from app.cli.quality import (
    Asking,
    Case,
    Figures,
    Judge,
    Verdict,
    halved,
    read_bfcl,
    read_extraction,
    spread,
)
from app.errors import ApiError

from ..measure import percentile
from .gateway import Gateway
from .grammars import WAYS, Free, LLGuidance, Ours, XGrammar
from .loop import Model, RecordingWorker, Trace
from .shots import with_shots


@dataclass(frozen=True, kw_only=True)
class Options:
    """See ``__main__``. ``models``: folders; ``cases``: of each set."""

    models: Sequence[Path]
    sets: Sequence[str]
    cases: int
    share: Any
    ways: Sequence[str]
    asking: Asking
    max_tokens: int
    temperature: float
    bfcl: Path
    settings: Mapping[str, str]


#: takes an answer as a JSON object
Record = Callable[[dict[str, Any]], None]


@dataclass
class Row:
    """The results of a model, a set and a way. ``trace``: of all answers together."""

    model: str
    set: str
    way: str
    figures: Figures = field(default_factory=Figures)
    trace: Trace = field(default_factory=Trace)

    def add(self, trace: Trace, verdict: Verdict, seconds: float) -> None:
        self.figures.add(verdict, tokens=len(trace.tokens), seconds=seconds)
        self.trace.extend(trace)

    def summary(self) -> dict[str, Any]:
        """Return the figures of the answers and of the steps; shares lie in [0, 1]."""
        trace, tokens = self.trace, self.figures.tokens
        steps = len(trace.steps)
        masked = sum(step.is_masked for step in trace.steps)
        kept = sum(step.kept for step in trace.steps)
        return self.figures.summary() | {
            "passes": trace.passes,
            "tokens_a_pass": _ratio(tokens, trace.passes),
            "forced": _ratio(trace.forced, tokens),
            "forced_unwanted": _ratio(trace.unwanted, trace.forced),
            "steps": steps,
            "masked": _ratio(masked, steps),
            "mass_kept": _ratio(kept, steps),
            "off_course": _ratio(masked + trace.unwanted, tokens),
            "mask_us_p50": _microseconds(trace.mask_s, 50),
            "mask_us_p99": _microseconds(trace.mask_s, 99),
            "tokens_per_s": _ratio(trace.decoded, trace.decode_s),
        }


def together(name: str, rows: Sequence[Row]) -> Row:
    """Return the results of several sets of one model and way, as one."""
    whole = Row(rows[0].model, name, rows[0].way)
    for row in rows:
        whole.figures.extend(row.figures)
        whole.trace.extend(row.trace)
    return whole


def _ratio(part: float, whole: float) -> float | None:
    return round(part / whole, 4) if whole else None


def _microseconds(seconds: Sequence[float], share: float) -> float | None:
    return round(1e6 * percentile(sorted(seconds), share), 1) if seconds else None


def read_set(name: str, options: Options) -> list[Case]:
    cases = read_extraction() if name == "extraction" else read_bfcl(options.bfcl, [name])
    return spread(halved(cases, options.share), options.cases)


async def run(options: Options, rows: list[Row], record: Record = lambda answer: None) -> None:
    """Ask all cases. Append a row for each model, set and way, and fill it answer by answer.

    ``record``: called with each answer, which has its verdict and its steps.
    """
    for folder in options.models:
        await _run_model(folder, options, rows, record)


async def _run_model(folder: Path, options: Options, rows: list[Row], record: Record) -> None:
    model, tokenizer = load(folder)
    judge, asked = Judge(), {}
    for way in options.ways:
        gateway = Gateway(str(folder), way, options.settings)
        grammar = grammar_of(way, gateway, tokenizer)
        worker = RecordingWorker(model, folder.name, gateway.vocabulary, grammar)
        gateway.use(worker)
        asked[way] = gateway, worker
    for name in options.sets:
        here = {way: Row(folder.name, name, way) for way in options.ways}
        rows += here.values()
        for case in read_set(name, options):
            case = case if tokenizer.chat_template else with_shots(case)
            for way, (gateway, worker) in asked.items():
                await _ask(case, gateway, worker, judge, here[way], options, record)
    for gateway, _ in asked.values():
        await gateway.aclose()


def load(folder: Path) -> tuple[Model, Any]:
    """Return the model and the tokenizer of a folder."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    model = AutoModelForCausalLM.from_pretrained(folder, local_files_only=True, dtype=torch.float32)
    return Model(model), tokenizer


def grammar_of(way: str, gateway: Gateway, tokenizer: Any) -> Any:
    """Return the grammar of a way, whose ``start`` begins an answer."""
    vocabulary = gateway.vocabulary
    size, stops = vocabulary.size, list(vocabulary.stop_token_ids)
    is_tight = way.endswith("-tight")
    match way:
        case "ours":
            return Ours(gateway.compiler, size)
        case "off":
            return Free()
        case "xgrammar" | "xgrammar-tight":
            return XGrammar(vocabulary.tokens, stops, size, is_tight)
        case "llguidance" | "llguidance-tight":
            return LLGuidance(tokenizer, gateway.special_texts, stops, size, is_tight)
    raise ValueError(f"no such way: {way!r}; there are {', '.join(WAYS)}")


async def _ask(
    case: Case,
    gateway: Gateway,
    worker: RecordingWorker,
    judge: Judge,
    row: Row,
    options: Options,
    record: Record,
) -> None:
    """Ask once and add to the row."""
    start = time.perf_counter()
    limits = {"max_tokens": options.max_tokens, "temperature": options.temperature, "seed": 1}
    place = {"model": row.model, "set": row.set, "way": row.way, "case": case.id}
    try:
        completion = await gateway.ask(case, options.asking, **limits)
    except (ApiError, ValueError) as error:
        row.figures.failures.append(f"{case.id}: {error}"[:300])
        record(place | {"failure": str(error)})
        return
    seconds, trace = time.perf_counter() - start, worker.trace
    verdict = judge.judge(case, completion)
    row.add(trace, verdict, seconds)
    counts = {name: getattr(trace, name) for name in ("passes", "forced", "unwanted", "decode_s")}
    steps = {"steps": [asdict(step) for step in trace.steps]}
    record(place | asdict(verdict) | {"seconds": seconds} | counts | steps)
