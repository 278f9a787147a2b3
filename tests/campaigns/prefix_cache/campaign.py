"""Let agents take turns with models, and compare each prompt with the prompt and answer before it.

A worker keeps the tokens of a prompt and of its answer in its cache; it computes again what the
next prompt has otherwise. The clients here change only what no prompt shows. Tokens are compared as
bytes, because noise draws tokens that no tokenizer writes.
"""

import json
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from os.path import commonprefix
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import httpx

from adapters.workers import Chunk, Generation, NoiseWorker
from app.conversation.tokenizer import BuiltinTokenizer
from engine import Vocabulary
from tests.app.conversation.chat_templates import folder_of, tokenizer_of
from tests.app.gateway import OPTIONS, Gateway
from tests.campaigns.prefix_cache.clients import CLIENTS, Agent, Body, Kind

#: formats without a chat template of their own
FORMATS = ("hermes", "harmony", "llama3_json", "qwen_coder")
#: what follows each answer; a call is required before results
TURNS: tuple[Kind, ...] = (
    *("results", "results", "reminder", "results", "instructions", "results", "question"),
    *("results", "instructions", "results"),
)
#: what the prompts of some models say of a required call: it is not in the next prompt, so what
#: follows it is always missed, and not counted
CHOICE = b"\n\nCall one of the functions now."
#: seeds that are tried for an answer that is not cut
TRIES = 20


@dataclass(slots=True)
class Losses:
    """Losses of some turns, in bytes.

    ``prompt``   of the prompts before: what the next ones do not begin with.
    ``answer``   of the answers before; ``beside_space``: if white space did not count.
    ``wrote``    these answers.
    ``texts``    the places where prompts part.
    """

    turns: int = 0
    prompt: int = 0
    answer: int = 0
    beside_space: int = 0
    wrote: list[bytes] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)

    def add(self, other: "Losses") -> None:
        """Add those of other turns."""
        self.turns += other.turns
        self.prompt += other.prompt
        self.answer += other.answer
        self.beside_space += other.beside_space
        self.wrote += other.wrote
        self.texts += other.texts


#: by model, client and kind of turn
LossTable = dict[tuple[str, str, Kind], Losses]


@dataclass(slots=True)
class Kept:
    """The contents of a worker's cache after a generation."""

    prompt: list[int]
    answer: list[int] = field(default_factory=list)


@contextmanager
def kept() -> Iterator[list[Kept]]:
    """Keep the prompts and the answers of noise workers."""
    every: list[Kept] = []
    generate = NoiseWorker.generate

    async def keeping(self: NoiseWorker, generation: Generation) -> AsyncGenerator[Chunk, None]:
        assert isinstance(generation.prompt, list)
        one = Kept(generation.prompt)
        every.append(one)
        async for chunk in generate(self, generation):
            one.answer += chunk.token_ids
            yield chunk

    with patch.object(NoiseWorker, "generate", keeping):
        yield every


def complaints(losses: LossTable) -> Iterator[str]:
    """Yield the losses that the gateway causes.

    A format without a chat template loses nothing of a prompt. Templates end prompts in their own
    ways, and drop thoughts before a question; but then all clients lose the same. Equal answers
    lose the same, too, beside white space: clients of messages keep no JSON text. Instructions
    behind results lose what a reminder there loses.
    """
    for (model, client, kind), loss in losses.items():
        if kind == "question":
            continue
        other = losses.get((model, "chat", kind), loss)
        where = f"{model}, {client}, {kind}"
        if model in FORMATS and loss.prompt:
            yield f"{where}: {loss.prompt} bytes of prompts"
        if loss.prompt > other.prompt:
            yield f"{where}: {loss.prompt} bytes of prompts, chat {other.prompt}"
        if kind == "instructions":
            reminded = losses.get((model, client, "reminder"), loss)
            if loss.prompt * reminded.turns > reminded.prompt * loss.turns:
                yield f"{where}: {loss.prompt} bytes of prompts, reminders {reminded.prompt}"
        if loss.wrote == other.wrote and loss.beside_space > other.beside_space:
            yield f"{where}: {loss.beside_space} bytes of answers, chat {other.beside_space}"


def run(
    models: Sequence[str], clients: Sequence[str], records: Mapping[str, Body], seed: int
) -> LossTable:
    """Return the losses. ``records``: a recorded request of a client, for its tools."""
    losses: LossTable = {}
    with TemporaryDirectory() as folder, kept() as every:
        file = Path(folder) / "gateway.toml"
        file.write_text("".join(map(_settings, models)))
        with Gateway(config_file=file) as gateway, httpx.Client(**OPTIONS) as http:
            for model in models:
                for name in clients:
                    agent = CLIENTS[name](records.get(name))
                    talk = _Talk(gateway.url, http, every, model, _vocabulary(model))
                    for kind, loss in talk.turns(agent, seed):
                        losses.setdefault((model, name, kind), Losses()).add(loss)
    return losses


def _settings(model: str) -> str:
    if model in FORMATS:
        place = f'format = "{model}"'
    else:
        place = f"tokenizer = {json.dumps(folder_of(model))}"
    return f'[[models]]\nname = "{model}"\n{place}\nreasoning = "on"\nnoise_seed = 1\n'


def _vocabulary(model: str) -> Vocabulary:
    tokenizer = BuiltinTokenizer(model) if model in FORMATS else tokenizer_of(model)
    return tokenizer.vocabulary


@dataclass(frozen=True, slots=True)
class _Talk:
    url: str
    http: httpx.Client
    every: list[Kept]
    model: str
    vocabulary: Vocabulary

    def turns(self, agent: Agent, seed: int) -> Iterator[tuple[Kind, Losses]]:
        """Yield the losses of each turn but the first."""
        before: tuple[Kind, Kept] | None = None
        for number, kind in enumerate(TURNS):
            calls = kind != "question"
            for one in range(TRIES):
                body = agent.body(seed * 1_000 + number * TRIES + one, calls=calls)
                self.every.clear()
                answer = self.http.post(self.url + agent.path, json={**body, "model": self.model})
                assert answer.status_code == 200, f"{self.model}: {answer.text}"
                (now,) = self.every
                if before is not None:
                    yield before[0], self._loss(before[1], now)
                    before = None
                if agent.read(answer.json(), kind):
                    before = kind, now
                    break
            else:
                return

    def _loss(self, before: Kept, now: Kept) -> Losses:
        prompt, is_told, _ = self._text(before.prompt).partition(CHOICE)
        answer = b"" if is_told else self._text(before.answer)
        had, next_prompt = prompt + answer, self._text(now.prompt)
        same = _same(had, next_prompt)
        loss = Losses(1, max(0, len(prompt) - same), wrote=[answer])
        if same >= len(prompt):
            loss.answer = len(had) - same
            loss.beside_space = len(_words(had)) - _same(_words(had), _words(next_prompt))
        if same < len(had):
            both = (each[max(0, same - 60) : same + 80] for each in (had, next_prompt))
            wrote, shown = (each.decode(errors="replace") for each in both)
            loss.texts.append(f"{wrote!r} became {shown!r}")
        return loss

    def _text(self, ids: Sequence[int]) -> bytes:
        return b"".join(self.vocabulary.tokens[number] for number in ids)


def _same(one: bytes, other: bytes) -> int:
    """Return how many bytes both begin with."""
    return len(commonprefix([one, other]))  # noqa: RUF071, it compares bytes here


def _words(text: bytes) -> bytes:
    return b"".join(text.split())
