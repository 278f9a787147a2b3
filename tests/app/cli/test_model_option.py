"""``--model``: the model of a command, where a gateway has several."""

import json
from pathlib import Path

import pytest

from app.cli import main
from tests.app.cli.command import numbers, switchyard
from tests.app.examples import ALARM
from tests.app.gateway import OPERATOR, Gateway
from tests.app.small_tokenizer import TEMPLATE, folder
from tests.redis_server import RedisServer

pytestmark = pytest.mark.program

FILE = """
[[models]]
name = "one"
aliases = ["first"]
[[models]]
name = "two"
tokenizer = "TOKENIZER"
workers = ["noise"]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "gateway.toml"
    made.write_text(FILE.replace("TOKENIZER", folder(tmp_path / "tokenizer", TEMPLATE)))
    (tmp_path / "schema.json").write_text(json.dumps(ALARM))
    return made


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["warm", "FILE"], "choose one of several models with --model: one, two"),
        (["warm", "FILE", "--model", "x"], "--model: no model 'x'; the models are: one, two"),
        (
            ["cache", "stats", "--model", "one"],
            "--model needs --url: the table of Redis shows all vocabularies",
        ),
    ],
)
def test_a_model_that_is_missing_or_unknown_is_a_sentence(
    file: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.setenv("SWITCHYARD_CONFIG_FILE", str(file))
    given = [str(file.parent / "schema.json") if each == "FILE" else each for each in arguments]
    assert main(given) == 2
    assert capsys.readouterr().err == f"switchyard: {sentence}\n"


def test_commands_take_one_model_of_several(file: Path, redis_server: RedisServer) -> None:
    shared = {"redis_url": redis_server.url, "cache_key": "0123456789abcdef"}
    for name in ("first", "two"):
        given = ["warm", "--config", file, "--model", name, file.parent / "schema.json"]
        done = switchyard(*given, **shared)
        assert (done.returncode, numbers(done.stdout)["compiled"]) == (0, "1"), done.stderr
    with Gateway(config_file=file, admin_keys=OPERATOR, **shared) as gateway:
        for name, shown in (("first", "one"), ("two", "two")):
            asked = ["cache", "stats", "--url", gateway.url, "--model", name]
            done = switchyard(*asked, admin_keys=OPERATOR)
            assert (done.returncode, numbers(done.stdout)["model"]) == (0, shown), done.stderr
        done = switchyard("cache", "stats", "--url", gateway.url, admin_keys=OPERATOR)
        assert done.returncode == 1
        assert "400: Missing required parameter: 'model'." in done.stderr
