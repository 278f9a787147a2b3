"""Several gateway processes on one port, as people run them."""

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
import pytest

from app.server.listening_sockets import bind_all, reserved
from tests.app.cli.command import PATIENCE, arguments, environment, switchyard
from tests.app.examples import body, json_schema

pytestmark = pytest.mark.program

PROCESSES = 2
#: an answer that takes some seconds
LONG = {"type": "array", "items": {"const": 1}, "minItems": 2_000, "maxItems": 2_000}
SLOW: dict[str, Any] = body(
    response_format=json_schema(LONG), max_completion_tokens=32_768, stream=True
)
ENDLESS: dict[str, Any] = SLOW | {
    "n": 8,
    "response_format": json_schema({**LONG, "minItems": 100_000, "maxItems": 200_000}),
}


class Group:
    """``switchyard serve`` with several processes on any free port."""

    def __init__(self, log: Path, **settings: Any) -> None:
        self._log = log
        chosen = {"port": 0, "processes": PROCESSES, "noise_seed": 1, **settings}
        with log.open("w") as out:
            self.process = subprocess.Popen(
                arguments("serve"), env=environment(**chosen), stdout=out, stderr=out
            )
        self.eventually(lambda: len(self.lines("ready")) == PROCESSES)
        (port,) = {line["port"] for line in self.lines("listening")}
        self.url = f"http://127.0.0.1:{port}"

    def lines(self, event: str) -> list[dict[str, Any]]:
        """The whole lines of an event."""
        whole = self._log.read_text().rpartition("\n")[0].splitlines()
        return [line for line in map(json.loads, whole) if line["event"] == event]

    def eventually(self, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            assert time.monotonic() < until, self._log.read_text()[-2000:]
            time.sleep(0.05)

    def metric(self, name: str) -> float:
        """The sum over the labels."""
        lines = httpx.get(f"{self.url}/metrics", timeout=PATIENCE).text.splitlines()
        found = (line.rpartition(" ") for line in lines if line.startswith(name))
        return sum(float(value) for _, _, value in found)

    def children(self) -> list[int]:
        listed = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text()
        return [int(number) for number in listed.split()]

    def served_by(self, path: str) -> set[int]:
        """The processes that have answered requests for a path."""
        return {line["process"] for line in self.lines("request") if line["route"] == path}

    def ask_all(self, path: str = "/v1/models") -> int:
        """Request a path, each time by a new connection, until every process has answered."""
        count = 0
        while len(self.served_by(path)) < PROCESSES:
            assert httpx.get(f"{self.url}{path}", timeout=PATIENCE).status_code == 200
            count += 1
        return count

    @contextmanager
    def streams(self, count: int, asked: dict[str, Any]) -> Iterator[list[str]]:
        """Run so many streams; at the end, the list has the texts of all answers."""
        texts: list[str] = []

        def ask() -> None:
            url = f"{self.url}/v1/chat/completions"
            with suppress(httpx.RemoteProtocolError):  # of a process that was killed
                texts.append(httpx.post(url, json=asked, timeout=PATIENCE).text)

        threads = [threading.Thread(target=ask) for _ in range(count)]
        for thread in threads:
            thread.start()
        started = "switchyard_time_to_first_token_seconds_count"
        self.eventually(lambda: self.metric(started) >= count)
        yield texts
        for thread in threads:
            thread.join()


@contextmanager
def running(**settings: Any) -> Iterator[Group]:
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        group = Group(folder / "log", **settings)
        try:
            yield group
        finally:
            group.process.terminate()
            group.process.wait(PATIENCE)


@pytest.fixture(scope="module")
def group() -> Iterator[Group]:
    with running() as made:
        yield made


def test_the_metrics_of_any_process_count_the_requests_to_all(group: Group):
    before = group.metric('switchyard_http_requests_total{code="200",method="GET",route="/v1/m')
    sent = group.ask_all()
    after = group.metric('switchyard_http_requests_total{code="200",method="GET",route="/v1/m')
    assert after - before == sent
    assert sent >= PROCESSES


def test_a_second_gateway_does_not_take_part_in_the_port(group: Group):
    port = int(group.url.rpartition(":")[2])
    done = switchyard("serve", port=port, processes=PROCESSES)
    assert done.returncode == 2
    assert done.stderr.startswith(f"switchyard: SWITCHYARD_PORT: cannot listen on 127.0.0.1:{port}")


def test_a_killed_process_comes_back_and_no_counter_goes_backwards():
    with running() as group:
        group.ask_all()
        counted = group.metric("switchyard_http_requests_total")
        for _ in range(2):
            killed = group.children()[0]
            ready = len(group.lines("ready"))
            os.kill(killed, signal.SIGKILL)
            group.eventually(lambda ready=ready: len(group.lines("ready")) > ready)  # type: ignore[misc]
            now = group.metric("switchyard_http_requests_total")
            assert now >= counted
            counted = now
            assert killed not in group.children()
            assert len(group.children()) == PROCESSES
        ended = group.lines("process ended")
        assert [line["status"] for line in ended] == [-signal.SIGKILL] * 2


def test_requests_that_a_killed_process_was_answering_are_no_longer_in_flight():
    with running(request_timeout=PATIENCE) as group:
        with group.streams(1, ENDLESS):
            for child in group.children():
                os.kill(child, signal.SIGKILL)
        group.eventually(lambda: len(group.lines("ready")) == 2 * PROCESSES)
        # the request for the metrics itself
        group.eventually(lambda: group.metric("switchyard_requests_in_flight") == 1)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_drains_the_streams_of_all_processes(number: signal.Signals):
    with running() as group:
        with group.streams(6, SLOW) as texts:
            group.process.send_signal(number)
        status = group.process.wait(PATIENCE)
        assert [text.endswith("data: [DONE]\n\n") for text in texts] == [True] * 6
        assert ['"error"' in text for text in texts] == [False] * 6
        assert {line["process"] for line in group.lines("stopped")} == set(range(PROCESSES))
        assert status == (-number if number == signal.SIGTERM else 130)


def test_streams_that_outlive_the_grace_period_end_with_an_error_in_all_processes():
    with running(shutdown_seconds=0.5) as group:
        with group.streams(4, ENDLESS) as texts:
            group.process.send_signal(signal.SIGTERM)
        group.process.wait(PATIENCE)
        assert ['"server_shutdown"' in text for text in texts] == [True] * 4


def test_processes_whose_parent_was_killed_drain_and_end():
    with running() as group:
        children = group.children()
        with group.streams(2, SLOW) as texts:
            group.process.kill()
        assert [text.endswith("data: [DONE]\n\n") for text in texts] == [True] * 2
        group.eventually(lambda: len(group.lines("stopped")) == PROCESSES)
        group.eventually(lambda: not any(is_running(child) for child in children))


def is_running(number: int) -> bool:
    try:
        return Path(f"/proc/{number}/stat").read_text().rpartition(") ")[2][0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("tokenizer", ["/no/such/folder"])
def test_an_unusable_setting_is_reported_once(tokenizer: str):
    done = switchyard("serve", port=0, processes=3, tokenizer=tokenizer, workers="noise")
    assert done.returncode == 2
    assert done.stderr == f"switchyard: SWITCHYARD_TOKENIZER: no such folder: {tokenizer}\n"
    assert "Traceback" not in done.stdout


@pytest.mark.parametrize("processes", ["0", "257", "two"])
def test_the_number_of_processes_is_bounded(processes: str):
    done = switchyard("serve", processes=processes)
    assert done.returncode == 2
    assert done.stderr.startswith("switchyard: SWITCHYARD_PROCESSES: ")


SCRIPT = """
import os, signal, sys, time
from app.observability.logs import make_logger
from app.server import process_group

process_group.KILL_S = 0.2

def run(number, link):
    {body}

group = process_group.ProcessGroup(
    2, run, on_end=lambda number: None, shutdown_s=0.1, logger=make_logger("info", sys.stdout)
)
sys.exit(group.run())
"""


@contextmanager
def scripted(body: str) -> "Iterator[subprocess.Popen[str]]":
    """A group of two processes with this body; a test that fails ends it."""
    script = SCRIPT.format(body=body)
    with subprocess.Popen(
        [sys.executable, "-c", script], env=environment(), stdout=subprocess.PIPE, text=True
    ) as made:
        try:
            yield made
        finally:
            made.kill()


def test_a_process_that_ends_before_it_serves_ends_the_group():
    with scripted("return 3 if number else time.sleep(1000)") as made:
        assert made.wait(PATIENCE) == 1


def test_a_process_that_does_not_stop_is_killed():
    ignoring = "signal.signal(signal.SIGTERM, signal.SIG_IGN); link.serving(); "
    # one write, because print writes the line feed by itself, between the other process's
    with scripted(f"{ignoring} os.write(1, b'up\\n'); time.sleep(1000)") as made:
        assert made.stdout is not None
        assert [made.stdout.readline() for _ in range(2)] == ["up\n"] * 2
        made.send_signal(signal.SIGTERM)
        events = [json.loads(line)["event"] for line in made.stdout]
        assert events == ["process killed: it did not stop"] * 2
        assert made.wait(PATIENCE) == 1


def test_a_process_that_keeps_ending_is_restarted_with_a_growing_delay():
    with scripted("link.serving(); return 7 if number else time.sleep(1000)") as made:
        assert made.stdout is not None
        ended = [json.loads(made.stdout.readline()) for _ in range(4)]
        made.send_signal(signal.SIGTERM)
        assert [line["restart_s"] for line in ended] == [0.0, 0.5, 1.0, 2.0]
        assert {(line["process"], line["status"]) for line in ended} == {(1, 7)}
        assert made.wait(PATIENCE) == 0


def test_a_reserved_port_refuses_connections_until_a_process_listens():
    with reserved("127.0.0.1", 0) as addresses:
        (place,) = (address for _, address in addresses)
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(place, PATIENCE)
        (listening,) = bind_all(addresses)
        with listening:
            listening.listen()
            socket.create_connection(place, PATIENCE).close()


#: a group whose parent fails while its second process ignores SIGTERM
FAILING = """
import os, signal, sys, time
from app.server import process_group

process_group.KILL_S = 0.2


def run(number, link):
    if number == 1:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        os.write(theirs, b"%d" % os.getpid())
        time.sleep(600)
    print(os.read(ours, 20).decode(), flush=True)
    link.serving()
    return 1


def fail(number):
    raise RuntimeError("the parent fails")


ours, theirs = os.pipe()
process_group.ProcessGroup(2, run, on_end=fail, shutdown_s=0, logger=None).run()
"""


def test_a_parent_that_fails_ends_even_a_process_that_hangs():
    with subprocess.Popen(
        [sys.executable, "-c", FAILING],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as parent:
        try:
            out, errors = parent.communicate(timeout=PATIENCE)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(parent.pid, signal.SIGKILL)
    assert "RuntimeError: the parent fails" in errors
    assert not Path(f"/proc/{int(out)}").exists()
