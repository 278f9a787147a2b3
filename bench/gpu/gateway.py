"""Measures the gateway whose process runs the model, and checks its answers.

    python -m bench.gpu.gateway OPTIONS      OPTIONS: a JSON object, see ``Options``; prints a line
                                             of JSON for each load

The model has a real shape, random weights and a real vocabulary; the official client asks for calls
of real tool sets (BFCL), every other one streamed: first one user, then USERS at once, of which the
worker serves one at a time. A random model would end no string, so requests make tokens of
punctuation likely (``logit_bias``), which the grammar still has to allow.

Checks   every answer by tests.real_input.judging: arguments against their schemas, ends, usage. The
         gateway's counters of divergences and internal errors must be 0.
"""

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from tests.app.small_tokenizer import TEMPLATE
from tests.real_input.asking import Answer, ask_all, client_of, complete
from tests.real_input.bfcl import Case, read_cases
from tests.real_input.judging import Judge
from tests.real_input.runs import Tally
from tests.real_input.served import metric, served_gateway

from ..vocabularies import load
from .decode.answers import likely_tokens
from .shapes import SHAPES, write_model

#: users at once in the second load
USERS = 4
#: seconds until the gateway has loaded the model
PATIENCE = 180.0
BIAS = 10
#: counters of the gateway that must stay 0
FAULTS = ("switchyard_parse_divergence_total", "switchyard_internal_errors_total")


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """``folder``: of the model, written if needed; ``answers``: of each load; ``tokens``: of an
    answer, at most; ``tools``: a folder of BFCL's data.
    """

    device: str
    shape: str
    vocabulary: str
    folder: str
    answers: int
    tokens: int
    tools: str


def write_weights(folder: Path, device: str) -> None:
    """Write random weights for the folder's configuration, and a chat template, once."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    (folder / "chat_template.jinja").write_text(TEMPLATE)
    if any(folder.glob("*.safetensors")):
        return
    torch.manual_seed(1)
    config = AutoConfig.from_pretrained(folder)
    with torch.device(device):
        dtype = torch.float32 if device == "cpu" else torch.bfloat16
        model = AutoModelForCausalLM.from_config(config, dtype=dtype)
    model.save_pretrained(folder)


def measure(
    url: str, name: str, cases: Sequence[Case], options: Options, at_once: int
) -> dict[str, Any]:
    """Return the record of a load."""
    loaded = load(options.vocabulary)
    bias = {str(number): BIAS for number in likely_tokens(loaded)}

    async def ask(number: int, case: Case) -> Answer:
        return await complete(
            client,
            stream=number % 2 == 1,
            model=name,
            messages=case.messages,
            tools=case.tools,
            tool_choice="required",
            seed=number,
            max_tokens=options.tokens,
            logit_bias=bias,
        )

    async def run() -> tuple[list[Answer], float]:
        nonlocal client
        async with client_of(url) as client:
            start = perf_counter()
            answers = await ask_all(cases, ask, at_once)
            return answers, perf_counter() - start

    client: Any = None
    answers, seconds = asyncio.run(run())
    return _record(cases, answers, seconds, at_once)


def _record(
    cases: Sequence[Case], answers: Sequence[Answer], seconds: float, at_once: int
) -> dict[str, Any]:
    judge, tally = Judge(), Tally()
    for case, answer in zip(cases, answers, strict=True):
        failed = [answer.error] if answer.error is not None else judge.calls(answer, case.schemas)
        tally.add(case.id, answer, failed)
    wrong = [f"{case}: {'; '.join(errors)}"[:500] for case, errors in tally.wrong.items()]
    return {
        "load": f"{at_once} at once",
        "answers": tally.cases,
        "finished": tally.finished,
        "cut": tally.cut,
        "calls": tally.calls,
        "wrong": wrong,
        "wrongs": len(wrong),
        "tokens": sum(tally.lengths),
        "seconds": seconds,
        "first_ms": [1000 * each.first_s for each in answers if each.first_s is not None],
        "findings": wrong if tally.finished else [*wrong, "no answer was finished"],
    }


def main() -> None:
    options = Options(**json.loads(sys.argv[1]))
    if not options.tools:
        raise SystemExit("no BFCL data: `make data` downloads them")
    with redirect_stdout(sys.stderr):
        folder = write_model(Path(options.folder), SHAPES[options.shape], options.vocabulary)
        write_weights(folder, options.device)
    cases = read_cases(Path(options.tools), options.answers, closed=True)
    settings = {
        "MODEL": str(folder),
        "FORMAT": "hermes",
        "REASONING": "off",
        "EMBEDDED_DEVICE": options.device,
        "REQUEST_TIMEOUT": "300",
    }
    with served_gateway(settings, PATIENCE) as url:
        for at_once in (1, USERS):
            with redirect_stdout(sys.stderr):
                if at_once == 1:  # the first answer loads kernels
                    measure(url, folder.name, cases[:1], options, 1)
                record = measure(url, folder.name, cases, options, at_once)
            counts = {name: metric(url, name) for name in FAULTS}
            record["findings"] += [f"{name}: {n:g}" for name, n in counts.items() if n]
            print(json.dumps(record), flush=True)


if __name__ == "__main__":
    main()
