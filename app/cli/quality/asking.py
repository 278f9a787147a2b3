"""``switchyard bench --quality``: the cases sent to a running server of OpenAI's API.

Log probabilities are those that the server reports. SGLang computes them after the grammar's mask
(model_runner.py applies it to the logits before sampler.py reads them), and so does Switchyard's
own worker. So they tell how sure the model was among the allowed tokens, and not whether the mask
forbade the token that it wanted: that is measured by ``python -m bench.quality``, which runs the
model itself.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import aiohttp

from ..environment import Unusable
from ..load import first_model, refusal
from ..terminal import plain, table
from .bfcl import KINDS, read_bfcl
from .cases import Asking, Case, Share, halved, spread
from .extraction import read_extraction
from .figures import NAMES, Figures
from .judging import Judge

#: seconds for a whole answer
ANSWER_SECONDS = 600.0
#: what an answer of another shape than OpenAI's raises
_ODD_SHAPES = (ValueError, LookupError, TypeError, AttributeError, RecursionError)
#: figures of the table, and their names in it
_SHOWN = {**NAMES, "tokens": "tokens", "logprob": "logprob a token"}
MASKS_UNKNOWN = (
    "Whether the grammar masked tokens that the model wanted is unknown: servers report log "
    "probabilities after the mask. python -m bench.quality measures it."
)
UNJUDGED = "Validity is not judged: the package jsonschema is not installed."


@dataclass
class Row:
    """The results of a set. ``logprobs``: of the tokens that the server reports."""

    figures: Figures = field(default_factory=Figures)
    logprobs: list[float] = field(default_factory=list)

    def summary(self) -> dict[str, Any]:
        known = self.logprobs
        mean = round(sum(known) / len(known), 3) if known else None
        return self.figures.summary() | {"logprob": mean}


@dataclass(frozen=True, kw_only=True)
class Quality:
    """The questions to a server. ``bfcl``: None, only extractions; ``cases``: of each set."""

    url: str
    model: str | None
    key: str | None
    users: int
    bfcl: Path | None
    cases: int
    share: Share
    asking: Asking
    max_tokens: int
    temperature: float
    judge: Judge = field(default_factory=Judge)
    rows: dict[str, Row] = field(default_factory=dict)

    @property
    def base(self) -> str:
        """The URL without a slash and ``/v1`` at its end."""
        return self.url.rstrip("/").removesuffix("/v1")

    def sets(self) -> dict[str, list[Case]]:
        """Return the chosen cases of each set. Raises Unusable."""
        sets = {"extraction": read_extraction()}
        if self.bfcl is not None:
            try:
                sets |= {kind: read_bfcl(self.bfcl, [kind]) for kind in KINDS}
            except (OSError, ValueError, LookupError) as error:
                raise Unusable(f"--bfcl has no cases: {plain(str(error))}") from None
        return {name: spread(halved(cases, self.share), self.cases) for name, cases in sets.items()}

    async def run(self) -> None:
        """Ask all cases and fill ``rows``. Raises Unusable."""
        sets = self.sets()
        places = asyncio.Semaphore(self.users)
        async with aiohttp.ClientSession(
            headers={"authorization": f"Bearer {self.key}"} if self.key else {},
            timeout=aiohttp.ClientTimeout(total=ANSWER_SECONDS),
            connector=aiohttp.TCPConnector(limit=self.users),
        ) as session:
            model = self.model or await first_model(session, self.base)
            async with asyncio.TaskGroup() as tasks:
                for name, cases in sets.items():
                    row = self.rows[name] = Row()
                    for case in cases:
                        tasks.create_task(self._ask(session, model, case, row, places))

    async def _ask(
        self,
        session: aiohttp.ClientSession,
        model: str,
        case: Case,
        row: Row,
        places: asyncio.Semaphore,
    ) -> None:
        """Ask once and add to the row."""
        async with places:
            start = time.perf_counter()
            try:
                answer = await self._answer(session, self._request(model, case))
                verdict = self.judge.judge(case, answer)
            except (aiohttp.ClientError, TimeoutError, *_ODD_SHAPES) as error:
                row.figures.failures.append(plain(str(error)) or type(error).__name__)
                return
        seconds = time.perf_counter() - start
        row.figures.add(verdict, tokens=_tokens(answer), seconds=seconds)
        row.logprobs += _logprobs(answer)

    def _request(self, model: str, case: Case) -> dict[str, Any]:
        return case.request(
            self.asking,
            model=model,
            max_completion_tokens=self.max_tokens,
            temperature=self.temperature,
            seed=1,
            logprobs=True,
        )

    async def _answer(self, session: aiohttp.ClientSession, body: dict[str, Any]) -> dict[str, Any]:
        """Return the completion; without log probabilities if the server refuses them. Raises
        ValueError, and errors of aiohttp.
        """
        async with session.post(f"{self.base}/v1/chat/completions", json=body) as response:
            if response.status == 200:
                answer: dict[str, Any] = await response.json()
                return answer
            reason = await refusal(response)
        if response.status in (400, 422) and body.pop("logprobs", None):
            return await self._answer(session, body)
        raise ValueError(reason)


def _tokens(answer: dict[str, Any]) -> int:
    """Return the tokens of an answer; 0 if the server does not report them."""
    try:
        return int(answer["usage"]["completion_tokens"])
    except _ODD_SHAPES:
        return 0


def _logprobs(answer: dict[str, Any]) -> list[float]:
    """Return the log probabilities; none if the server has them in another shape, or not at all."""
    try:
        listed = answer["choices"][0]["logprobs"]["content"]
        return [float(token["logprob"]) for token in listed]
    except _ODD_SHAPES:
        return []


def run_quality(quality: Quality, *, as_json: bool) -> int:
    """Ask the server and print the figures; return 1 if a request failed. Raises Unusable."""
    if quality.users < 1 or quality.cases < 1 or quality.max_tokens < 1:
        raise Unusable("--users, --cases and --max-tokens must be >= 1")
    if not quality.url.startswith(("http://", "https://")):
        raise Unusable(f"URL must begin with http:// or https://, got {plain(quality.url)}")
    try:
        asyncio.run(quality.run())
    except KeyboardInterrupt:
        print("interrupted: figures so far", file=sys.stderr)
    figures = {name: row.summary() for name, row in quality.rows.items()}
    notes = [MASKS_UNKNOWN] if quality.judge.validates else [UNJUDGED, MASKS_UNKNOWN]
    if as_json:
        print(json.dumps({"sets": figures, "failures": _failures(quality), "notes": notes}))
    else:
        print(_shown(figures, _failures(quality), notes))
    return 0 if all(map(_is_good, figures.values())) else 1


def _is_good(summary: dict[str, Any]) -> bool:
    return summary["answers"] > 0 and not summary["failed"]


def _failures(quality: Quality) -> dict[str, int]:
    return dict(Counter(text for row in quality.rows.values() for text in row.figures.failures))


def _shown(
    figures: dict[str, dict[str, Any]], failures: dict[str, int], notes: Sequence[str]
) -> str:
    rows: list[list[Any]] = [["", *figures]]
    rows += [[text, *(each[name] for each in figures.values())] for name, text in _SHOWN.items()]
    failed = [f"failed: {count} ({text})" for text, count in failures.items()]
    return "\n".join([table(rows), *failed, "", *notes])
