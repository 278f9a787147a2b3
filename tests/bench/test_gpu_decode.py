"""The decode loop of the GPU benchmark on a CPU: its model is Llama, and it finds wrong masks."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")

from adapters.sglang_plugin.mask_buffers import MaskBuffers  # noqa: E402
from bench.data import builtin_tools  # noqa: E402
from bench.gpu.decode import answers, backends, device_queue  # noqa: E402
from bench.gpu.decode.answers import Judged, Rows  # noqa: E402
from bench.gpu.decode.device_queue import DeviceQueue  # noqa: E402
from bench.gpu.decode.loop import Run  # noqa: E402
from bench.gpu.decode.model import Decoder, Layer, Pass  # noqa: E402
from bench.gpu.shapes import SHAPES  # noqa: E402
from bench.vocabularies import load  # noqa: E402

SHAPE, WIDTH, TOKENS, ROWS = SHAPES["tiny"], 257, 220, 4
CASES = [case._replace(calls=case.calls[:1]) for case in builtin_tools()]


def decoder(width: int = WIDTH, slots: int = TOKENS + 4, **changes: Any) -> Decoder:
    options = {"rows": ROWS, "slots": slots, "device": "cpu", "dtype": torch.float32} | changes
    return Decoder(SHAPE, width, **options)


# -- the model -------------------------------------------------------------------------------------
def test_the_model_is_llama() -> None:
    config = transformers.LlamaConfig(**SHAPE.config(WIDTH, 1), attn_implementation="eager")
    torch.manual_seed(3)
    theirs, ours = transformers.LlamaForCausalLM(config).eval(), decoder(slots=16)
    ours.embedding, ours.head = theirs.model.embed_tokens.weight, theirs.lm_head.weight
    ours.layers = [
        Layer(
            attention_norm=each.input_layernorm.weight,
            qkv=torch.cat([getattr(each.self_attn, f"{kind}_proj").weight for kind in "qkv"]),
            out=each.self_attn.o_proj.weight,
            mlp_norm=each.post_attention_layernorm.weight,
            gate_up=torch.cat([each.mlp.gate_proj.weight, each.mlp.up_proj.weight]),
            down=each.mlp.down_proj.weight,
        )
        for each in theirs.model.layers
    ]
    ids = torch.randint(WIDTH, (ROWS, 9))
    with torch.inference_mode():
        wanted = theirs(ids).logits
        for at in range(9):
            found = ours.forward(ids[:, at], torch.full((ROWS,), at))
            assert torch.allclose(found, wanted[:, at], atol=1e-4)


def test_all_tensors_of_a_pass_are_on_its_device() -> None:
    """The device "meta" computes nothing, but refuses to mix its tensors with those of a CPU."""
    model = decoder(device="meta", dtype=torch.bfloat16)
    tokens = torch.zeros(ROWS, dtype=torch.int64, device="meta")
    logits = model.forward(tokens, tokens)
    assert logits.device.type == "meta" and logits.dtype is torch.float32


# -- the loop --------------------------------------------------------------------------------------
class Wrong(backends.Ours):
    """Changes the masks after they are filled."""

    def __init__(self, change: Any, *given: Any) -> None:
        super().__init__(*given)
        self._change = change

    def fill(self, states: Sequence[Any], rows: Sequence[int], mask: torch.Tensor) -> None:
        super().fill(states, rows, mask)
        self._change(mask)


def judged(
    change: Any = None, *, steps: int = 500, with_grammar: bool = True, is_graph: bool = False
) -> Judged:
    """Return the answers of two steered rows, two free ones, and their followers."""
    loaded, masks = load("bytes"), backends.mask_buffers("cpu")
    rows = Rows(CASES, loaded, TOKENS)
    model = Pass(decoder(), ROWS, is_graph=is_graph)
    queue = DeviceQueue(model, masks, likely=rows.likely, prompt=4)
    given = (loaded, masks, 4)
    backend = Wrong(change, *given) if change else backends.Ours(*given)
    found = Judged(rows)
    with torch.inference_mode():
        Run(queue, backend if with_grammar else None, rows, 0, found, TOKENS).run(steps)
    return found


@pytest.fixture(autouse=True)
def free_rows(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let every second row be a free one. Threads of torch would wait for busy processors."""
    monkeypatch.setattr(answers, "FREE_EVERY", 2)
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_answers_of_all_rows_are_judged() -> None:
    found = judged()
    assert found.wrong == []
    assert found.answers >= ROWS and found.checked >= 2


def test_a_mask_that_forbids_a_true_token_is_found() -> None:
    def forbid(mask: torch.Tensor) -> None:
        mask[:, ord("}") // 32] &= ~(1 << (ord("}") % 32))

    assert any("not the true call" in each for each in judged(forbid).wrong)


def test_a_mask_that_allows_everything_is_found() -> None:
    """The engine refuses the token, and the text of a free row does not fit its schema."""
    assert any("is refused" in each for each in judged(lambda mask: mask.fill_(-1)).wrong)


def test_rows_are_the_same_with_and_without_a_grammar(tmp_path: Path) -> None:
    rows = Rows(CASES, load("bytes"), TOKENS)
    lengths = [len(rows.row(number).wanted) for number in range(4)]
    assert lengths[1] == lengths[3] == TOKENS and lengths[0] == lengths[2] < TOKENS
    assert rows.row(0).spec != rows.row(2).spec
    assert judged(with_grammar=False).answers == 0


# -- order of the queue ----------------------------------------------------------------------------
class Recorder:
    """Stands in for CUDA's streams, events and graphs: does nothing but note calls in order."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self._stream = "main"
        self._names = iter(("passed", "copied", "chosen", "used"))

    def stand_in(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Replace what the queue uses of torch.cuda; tensors stay on the CPU."""
        cuda = torch.cuda
        monkeypatch.setattr(cuda, "Event", lambda: Event(self, next(self._names)))
        monkeypatch.setattr(cuda, "Stream", lambda: Stream(self, "copies"))
        monkeypatch.setattr(cuda, "current_stream", lambda: Stream(self, self._stream))
        monkeypatch.setattr(cuda, "stream", self.stream)
        monkeypatch.setattr(cuda, "synchronize", lambda: None)
        monkeypatch.setattr(cuda, "CUDAGraph", lambda: Graph(self))
        monkeypatch.setattr(cuda, "graph", lambda _: nullcontext())
        monkeypatch.setattr(device_queue, "host_memory", lambda *size, pinned: torch.zeros(
            size, dtype=torch.int64))  # fmt: skip
        monkeypatch.setattr(torch.Tensor, "record_stream", lambda *_: self.note("keep mask"))
        for name in ("move", "apply"):
            monkeypatch.setattr(MaskBuffers, name, self.noting(name, getattr(MaskBuffers, name)))

    def note(self, what: str) -> None:
        self.calls.append(f"{self._stream}: {what}")

    def noting(self, name: str, call: Any) -> Any:
        def noted(*given: Any) -> Any:
            self.note(name)
            return call(*given)

        return noted

    @contextmanager
    def stream(self, stream: "Stream") -> Iterator[None]:
        before, self._stream = self._stream, stream.name
        yield
        self._stream = before


class Event:
    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder, self.name = recorder, name

    def record(self) -> None:
        self._recorder.note(f"record {self.name}")

    def synchronize(self) -> None:
        self._recorder.calls.append(f"host: wait for {self.name}")

    def query(self) -> bool:
        return False


class Stream:
    def __init__(self, recorder: Recorder, name: str) -> None:
        self._recorder, self.name = recorder, name

    def wait_event(self, event: Event) -> None:
        self._recorder.calls.append(f"{self.name}: wait for {event.name}")

    def wait_stream(self, stream: "Stream") -> None:
        pass


class Graph:
    """Replays nothing, so the logits stay those of the capture; that is enough for the order."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder

    def replay(self) -> None:
        self._recorder.note("pass")


def test_masks_are_applied_behind_their_copy_and_tokens_read_behind_their_choice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    recorder = Recorder()
    recorder.stand_in(monkeypatch)
    judged(steps=3, is_graph=True)
    step = [
        "main: pass",
        "main: record passed",
        "host: wait for chosen",
        "copies: wait for used",
        "copies: move",
        "copies: record copied",
        "main: wait for copied",
        "main: keep mask",
        "main: apply",
        "main: record chosen",
        "main: record used",
    ]
    first = [call for call in step if call != "host: wait for chosen"]
    assert recorder.calls == [*first, *step, *step]
