"""A real server for these tests, its venv and its model.

They are skipped unless SWITCHYARD_SGLANG=1 (`make test-sglang`): the venv takes minutes and 2 GB.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from .environment import ROOT, ensure_python
from .servers import Servers

HERE = Path(__file__).parent
WANTED = os.environ.get("SWITCHYARD_SGLANG") == "1"
#: further rows of logits, as models have them that round their vocabulary up
PADDING = 128
#: files whose servers are another file's
SHARED = {
    "test_disaggregation": "test_pool",
    "test_speculation": "test_switchyard",
    "test_switchyard_gateway": "test_switchyard",
}


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Iterator[None]:
    """Mark all as tests of a server. Those of one group share a process and its servers."""
    reason = "needs a venv with SGLang (2 GB): run `make test-sglang`, or set SWITCHYARD_SGLANG=1"
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.server)
        item.add_marker(pytest.mark.skipif(not WANTED, reason=reason))
        if item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group(SHARED.get(item.path.stem, item.path.stem)))
    yield
    # in a worker of `--dist loadgroup`; else each test may run beside any other, and start servers
    if getattr(config.option, "loadgroup", False) and not all("@" in each.nodeid for each in ours):
        raise pytest.UsageError("this pytest-xdist names no groups of tests in this pytest")


@pytest.fixture(scope="session")
def server_python() -> Path:
    """The interpreter that has SGLang and this project; made first, where it has to be."""
    return ensure_python()


@pytest.fixture(scope="session")
def tiny_model_folder(server_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny random model of the format "hermes", with 4,096 tokens."""
    return _model(server_python, tmp_path_factory.mktemp("model"))


@pytest.fixture(scope="session")
def padded_model_folder(server_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same with more logits than tokens; for ``sglang_server(..., model=...)``."""
    return _model(server_python, tmp_path_factory.mktemp("padded"), "--padding", str(PADDING))


@pytest.fixture(scope="session")
def sglang_server(server_python: Path, tiny_model_folder: Path) -> Iterator[Servers]:
    """Running servers by backend, arguments and environment, shared by all tests of the run."""
    servers = Servers(server_python, tiny_model_folder)
    yield servers
    servers.close()


def _model(python: Path, folder: Path, *options: str) -> Path:
    command = [str(python), "-m", "tests.sglang.tiny_model", str(folder), *options]
    done = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    return folder
