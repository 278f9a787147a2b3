"""Verdicts on the sampled tokens of recorded cases, in processes of their own."""

import json
import random
import signal
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from ..data import SchemaCase
from ..vocabularies import Loaded, load
from .judging import ALLOWED, FORBIDDEN, UNDECIDED, Judge, Verdict, judge_of
from .recording import lines, seed_of

#: seconds for one case, and for one token
SECONDS, OF_TOKEN = 60, 8
#: processes that judge so many cases are replaced, because memory grows with the schemas
CASES_OF_A_PROCESS = 200
Line = dict[str, Any]


class Job(NamedTuple):
    """``most``: tokens that are judged, a sample of the sampled ones; 0: all."""

    case: SchemaCase
    line: Line
    vocabulary: str
    most: int = 0


def judge_all(
    cases: Mapping[str, SchemaCase],
    records: Path,
    judged: Path,
    vocabulary: str,
    *,
    jobs: int,
    most: int = 0,
) -> None:
    """Judge the recorded cases that the file ``judged`` has not yet."""
    done = {line["name"] for line in lines(judged)}
    left = (
        Job(cases[line["name"]], line, vocabulary, most)
        for line in lines(records)
        if line["name"] not in done and line["name"] in cases
    )
    pool = get_context("spawn").Pool(jobs, maxtasksperchild=CASES_OF_A_PROCESS)
    with pool, judged.open("a") as out:
        for made in pool.imap_unordered(judge_case, left):
            print(json.dumps(made), file=out, flush=True)


@cache
def _loaded(vocabulary: str) -> Loaded:
    return load(vocabulary)


def _late(*_: Any) -> None:
    raise TimeoutError


def judge_case(job: Job) -> Line:
    """Return counts by engine, and the errors that are proved."""
    counts: Counter[str] = Counter()
    kept: dict[str, list[Line]] = {"errors": [], "undecided": [], "explained": []}
    signal.signal(signal.SIGALRM, _late)
    signal.alarm(SECONDS)
    reason: str | None = None
    try:
        judge = judge_of(job.case.schema, [t.encode() for t, valid in job.case.texts if valid][:4])
        if isinstance(judge, str):
            reason = judge
        else:
            for found in _verdicts(job, judge):
                _count(found, counts, kept)
    except TimeoutError:
        counts["cases out of time"] += 1
    finally:
        signal.alarm(0)
    total = sum(len(walk["sampled"]) for walk in job.line["walks"])
    line = {"name": job.case.name, "unjudged": reason, "sampled": total, "counts": dict(counts)}
    return (
        line
        | {"errors": kept["errors"]}
        | {key: kept[key][:20] for key in ("undecided", "explained")}
    )


def _chosen(job: Job) -> list[list[Any]]:
    """Return each walk's tokens that are judged: mostly those on which masks differ."""
    walks = [walk["sampled"] for walk in job.line["walks"]]
    places = [(k, n) for k, own in enumerate(walks) for n in range(len(own))]
    if job.most and len(places) > job.most:
        rng = random.Random(seed_of(job.case.name))
        rng.shuffle(places)
        differ = [p for p in places if len(set(walks[p[0]][p[1]][2].values())) > 1]
        agree = [p for p in places if p not in set(differ)]
        few = max(job.most - len(differ), job.most // 4)
        places = [*agree[:few], *differ][: job.most]
    wanted = set(places)
    return [[one for n, one in enumerate(own) if (k, n) in wanted] for k, own in enumerate(walks)]


class Found(NamedTuple):
    """A verdict on a token, with its place."""

    kind: str
    text: bytes
    token: bytes | None
    allows: dict[str, bool]
    verdict: Verdict


def _verdicts(job: Job, judge: Judge) -> Iterator[Found]:
    loaded = _loaded(job.vocabulary)
    for walk, sampled in zip(job.line["walks"], _chosen(job), strict=True):
        at, text = 0, b""
        for step, token, allows, left_out in sampled:
            text += b"".join(loaded.tokens[one] for one in walk["ids"][at:step])
            at = step
            spelled = None if token == loaded.stop else loaded.tokens[token]
            forbidding = [name for name, allowed in allows.items() if not allowed]
            verdict = _verdict(judge, text, spelled, [n for n in forbidding if n not in left_out])
            if verdict.kind == ALLOWED and spelled is not None:
                verdict = verdict._replace(rules=verdict.rules | left_out)
            yield Found(walk["kind"], text, spelled, allows, verdict)


def _verdict(judge: Judge, text: bytes, token: bytes | None, forbidding: Sequence[str]) -> Verdict:
    if token is None:
        return judge.stop(text)
    try:
        return judge.token(text, token, forbidding)
    except RecursionError:
        return Verdict(UNDECIDED, "deep")


def _count(found: Found, counts: Counter[str], kept: dict[str, list[Line]]) -> None:
    verdict = found.verdict
    counts["judged"] += 1
    counts[f"{verdict.kind}: {verdict.reason}"] += 1
    for name, allowed in found.allows.items():
        outcome = _outcome(name, allowed, verdict)
        counts[f"{name}|{outcome}"] += 1
        if outcome.startswith("wrongly"):
            kept["errors"].append(_told(name, outcome, found))
        elif outcome.startswith("by rule") and name == "ours":
            kept["explained"].append(_told(name, outcome, found))
    if verdict.kind == UNDECIDED and len(set(found.allows.values())) > 1:
        counts["undecided, masks differ"] += 1
    if verdict.kind == UNDECIDED:
        kept["undecided"].append(_told("", verdict.reason, found))


def _outcome(engine: str, allowed: bool, verdict: Verdict) -> str:
    if verdict.kind == UNDECIDED:
        return UNDECIDED
    if allowed == (verdict.kind == ALLOWED):
        return "right"
    if verdict.kind == FORBIDDEN:
        if verdict.reason == "format" and engine != "ours":
            return "allowed, against a format"
        return f"wrongly allowed: {verdict.reason}"
    rule = verdict.rules.get(engine)
    return f"by rule: {rule}" if rule else "wrongly forbidden"


def _told(engine: str, outcome: str, found: Found) -> Line:
    witness = found.verdict.witness
    return {
        "engine": engine, "outcome": outcome, "walk": found.kind, "reason": found.verdict.reason,
        "text": found.text.decode("utf-8", "backslashreplace"),
        "token": None if found.token is None else found.token.decode("utf-8", "backslashreplace"),
        "allows": found.allows,
        "witness": None if witness is None else witness.decode("utf-8", "backslashreplace"),
    }  # fmt: skip


def rows(judged: Iterable[Line]) -> Counter[str]:
    """Return the sums of all counts."""
    total: Counter[str] = Counter()
    for line in judged:
        total.update(line["counts"])
        total["sampled"] += line["sampled"]
        if line["unjudged"]:
            total[f"schema not judged: {line['unjudged']}"] += 1
            total["sampled, not judged"] += line["sampled"]
        else:
            total["sampled, not judged"] += line["sampled"] - line["counts"].get("judged", 0)
        for engine in {error["engine"] for error in line["errors"]}:
            total[f"{engine}|schemas with an error"] += 1
    return total
