"""Runs the tests of npm packages with Node's own test runner, against each gateway."""

import os
import subprocess
from pathlib import Path

import pytest

from ..readme import examples
from ..served import Served
from ..snippets import snippet

HERE = Path(__file__).parent
#: where the packages are; Node looks for them beside the sources, so these are copied there
PACKAGES = Path(os.environ.get("NODE_PACKAGES", HERE))
SOURCES = sorted(HERE.glob("*.js"))
TYPES = "zod.test.js"
#: run against each gateway
FILES = [path.name for path in SOURCES if ".test." in path.name and path.name != TYPES]
#: what zod_schemas.js has printed
ZOD = HERE.parents[1] / "engine/frontends/json_schema/zod_schemas.json"
HEADINGS = (
    "OpenAI's client for Node",
    "AI SDK",
    "OpenAI Agents for Node",
    "Anthropic's client for Node",
)
#: seconds for one file of tests on a slow machine
PATIENCE = 300.0


def node(*arguments: str, **environment: str) -> str:
    """Return its output; it must succeed."""
    done = subprocess.run(
        ["node", *arguments], cwd=PACKAGES, env={**os.environ, **environment}, text=True,
        timeout=PATIENCE, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


@pytest.fixture(scope="session")
def _sources() -> None:
    """The sources beside their packages."""
    for source in SOURCES:
        (PACKAGES / source.name).write_bytes(source.read_bytes())


@pytest.mark.usefixtures("_sources")
@pytest.mark.parametrize("name", FILES)
def test_a_file(served: Served, name: str) -> None:
    thinks = "yes" if served.thinks else "no"
    node("--test", "--test-reporter=spec", name, SERVED_URL=served.url, SERVED_THINKS=thinks)


@pytest.mark.usefixtures("_sources")
@pytest.mark.parametrize("served", ["plain"], indirect=True)
def test_the_types_of_zod(served: Served) -> None:
    """Its schemas are those of answers, which no format of calls changes."""
    node("--test", "--test-reporter=spec", TYPES, SERVED_URL=served.url)


@pytest.mark.usefixtures("_sources")
def test_the_engine_is_tested_with_the_schemas_of_the_installed_zod() -> None:
    """Otherwise write them again, as ``zod_schemas.js`` says."""
    assert node("zod_schemas.js") == ZOD.read_text()


@pytest.mark.parametrize("served", ["hermes"], indirect=True)
@pytest.mark.parametrize("heading", HEADINGS)
def test_an_example_prints_its_type(served: Served, heading: str) -> None:
    printed = node("--input-type=module", "--eval", snippet(heading, served))
    assert "city:" in printed


def test_the_example_of_the_readme_prints_what_it_shows(shipped: Served) -> None:
    ((code, shown),) = examples("With the official TypeScript client", shipped)
    assert node("--input-type=module", "--eval", code).splitlines() == shown.splitlines()
