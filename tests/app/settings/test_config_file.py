"""The configuration file: its models, and every kind of mistake by file and key."""

import re
from pathlib import Path

import pytest

from app.settings import SettingError, read_settings
from tests.app.cli.command import switchyard

ROOT = Path(__file__).parents[3]
NOISE = '[[models]]\nname = "a"\n'

#: a file, and the sentences about it after its name; a place is ": KEY: "
MISTAKES: dict[str, tuple[str | bytes, list[str]]] = {
    "no key": ("[[models]]\nname\n", [":2: not TOML: Expected '=' after a key"]),
    "an end too early": ("[[models]]\nname = [\n", [":3: not TOML: "]),
    "a key twice": ("[[models]]\nname = 'a'\nname = 'b'\n", [":3: not TOML: "]),
    "deep nesting": ("a = " + "[" * 100_000, [": not TOML: nested too deeply"]),
    "a long number": ("a = " + "9" * 5_000, [": not TOML: "]),
    "a long number in hexadecimal": ("a = 0x" + "f" * 5_000, [": a number has too many digits"]),
    "no UTF-8": (b"[[models]]\n\nname = '\xff'", [":3: the file must be UTF-8 text"]),
    "a mark of byte order": (b"\xef\xbb\xbf[[models]]", [":1: not TOML: "]),
    "too many bytes": (b"#" * ((1 << 20) + 1), [" is larger than 1,048,576 bytes, the maximum"]),
    "nothing": ("", [": models: at least one [[models]] table is required"]),
    "no table": ("models = []", [": models: at least one [[models]] table is required"]),
    "one table": (
        "[models]\nname = 'a'",
        [": models: must be an array of tables: begin each with [[models]]"],
    ),
    "a table that is none": ("models = [1]", [": models[0]: "]),
    "a key that is misspelt": (
        f"{NOISE}wokers = ['noise']",
        [": models[0].wokers: no such setting; did you mean workers?"],
    ),
    "a key in capitals": (
        f"{NOISE}FORMAT = 'plain'",
        [": models[0].FORMAT: no such setting; did you mean format?"],
    ),
    "a table that is unknown": (
        f"{NOISE}[gateway]\nport = 1",
        [": gateway: no such setting"],
    ),
    "a table that is misspelt": (
        f"{NOISE}[[model]]",
        [": model: no such setting; did you mean models?"],
    ),
    "a setting of the gateway": (
        f"{NOISE}port = 1",
        [": models[0].port: not a setting of a model: set SWITCHYARD_PORT in the environment"],
    ),
    "a number in quotes": (
        f"{NOISE}max_choices = '8'",
        [": models[0].max_choices: Input should be a valid integer"],
    ),
    "a number for a boolean": (
        f"{NOISE}include_schema_in_prompt = 1",
        [": models[0].include_schema_in_prompt: Input should be a valid boolean"],
    ),
    "a number too small": (
        f"{NOISE}max_tools = 0",
        [": models[0].max_tools: Input should be greater than or equal to 1"],
    ),
    "a number without end": (
        f"{NOISE}worker_token_seconds = inf",
        [": models[0].worker_token_seconds: Input should be a finite number"],
    ),
    "a date": (
        f"{NOISE}format = 1979-05-27",
        [": models[0].format: Input should be a valid str"],
    ),
    "a text for a list": (
        f"{NOISE}workers = 'noise'",
        [": models[0].workers: Input should be a valid array"],
    ),
    "a number in a list": (
        f"{NOISE}workers = [\n1]",
        [": models[0].workers[0]: Input should be a valid string"],
    ),
    "a worker that is none": (
        f"{NOISE}workers = ['ftp://user:secret@h']",
        [": models[0].workers: 'ftp://***@h' is neither an http(s) or dns+http URL nor one o"],
    ),
    "a value that is unknown": (
        f"{NOISE}reasoning = 'maybe'",
        [": models[0].reasoning: Input should be 'auto', 'on' or 'off'"],
    ),
    "a format that is unknown": (
        f"{NOISE}format = 'zzz'",
        [": models[0].format: must be auto, plain"],
    ),
    "a name that is empty": ("[[models]]\nname = ''", [": models[0].name: must have 1 to 200 "]),
    "a name of two lines": ('[[models]]\nname = "a\\n"', [": models[0].name: must have 1 to "]),
    "a model without a tokenizer": (
        f"{NOISE}[[models]]\nname = 'b'\nworkers = ['http://h:1']",
        [": models[1]: SGLang workers need `tokenizer` (or `model`)"],
    ),
    "numbers that do not fit": (
        f"{NOISE}max_completion_tokens = 5",
        [": models[0]: `default_completion_tokens` must be at most `max_completion_tokens`, 5;"],
    ),
    "two models of one name": (
        f"{NOISE}{NOISE}",
        [": models[1].name: 'a' is a name or alias of the model 'a' already"],
    ),
    "two models without a name": (
        "[[models]]\n[[models]]\n",
        [": models[1].name: 'noise' is a name or alias of the model 'noise' already"],
    ),
    "an alias that is a name": (
        f"{NOISE}aliases = [ 'x', 'b' ]\n[[models]]\nname = 'b'",
        [": models[0].aliases: 'b' is a name or alias of the model 'b' already"],
    ),
    "an alias of two models": (
        f"{NOISE}aliases = ['x']\n[[models]]\nname = 'b'\naliases = ['x']",
        [": models[1].aliases: 'x' is a name or alias of the model 'a' already"],
    ),
    "a secret": (
        f"{NOISE}worker_api_key = 'secret'",
        [": models[0].worker_api_key: the file holds no secrets: write the key into a file of"],
    ),
    "a file without a key": (
        f"{NOISE}worker_api_key_file = '/nowhere'",
        [": models[0].worker_api_key_file: /nowhere cannot be read: No such file or directory"],
    ),
    "several mistakes": (
        f"{NOISE}zzz = 1\n[[models]]\nmax_tools = -1",
        [": models[0].zzz: no such setting", ": models[1].max_tools: Input should be great"],
    ),
}


@pytest.mark.parametrize(("text", "sentences"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_is_a_sentence_with_file_and_key(
    tmp_path: Path, text: str | bytes, sentences: list[str]
) -> None:
    file = tmp_path / "gateway.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(SettingError) as caught:
        read_settings(config_file=file)
    told = [each.removeprefix("SWITCHYARD_CONFIG_FILE: ") for each in caught.value.sentences]
    assert [each[: len(f"{file}{start}")] for each, start in zip(told, sentences, strict=True)] == [
        f"{file}{start}" for start in sentences
    ]
    assert "secret'" not in str(caught.value)


@pytest.mark.parametrize("name", ["nowhere.toml", ".", "a\0b"])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(SettingError, match=r"^SWITCHYARD_CONFIG_FILE: .* cannot be read: "):
        read_settings(config_file=tmp_path / name)


def test_each_setting_has_one_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(NOISE)
    monkeypatch.setenv("SWITCHYARD_CONFIG_FILE", str(file))
    monkeypatch.setenv("SWITCHYARD_MODEL", "")
    monkeypatch.setenv("SWITCHYARD_PORT", "1")
    chosen = read_settings()
    assert (chosen.gateway.port, [model.served_model for model in chosen.models]) == (1, ["a"])
    monkeypatch.setenv("SWITCHYARD_FORMAT", "plain")
    with pytest.raises(
        SettingError, match=r"^SWITCHYARD_FORMAT: SWITCHYARD_CONFIG_FILE is set, so"
    ):
        read_settings()


def test_real_models_of_a_file_are_not_open_to_other_hosts(tmp_path: Path) -> None:
    file = tmp_path / "gateway.toml"
    file.write_text(f"{NOISE}[[models]]\nmodel = 'm'\nworkers = ['http://h:1']")
    with pytest.raises(SettingError, match="SWITCHYARD_API_KEYS is empty"):
        read_settings(config_file=file, host="0.0.0.0")
    assert len(read_settings(config_file=file, host="0.0.0.0", api_keys="k").models) == 2


def test_the_example_of_the_documentation_is_valid(tmp_path: Path) -> None:
    section = (ROOT / "docs" / "running.md").read_text().partition("\n## Several models\n")[2]
    text = re.findall(r"```toml\n(.*?)```", section, re.DOTALL)[0]
    key = tmp_path / "qwen-key"
    key.write_text("secret")
    assert "/run/secrets/qwen-key" in text
    file = tmp_path / "gateway.toml"
    file.write_text(text.replace("/run/secrets/qwen-key", str(key)))
    models = read_settings(config_file=file).models
    kinds = {model.served_model: model.worker_kind for model in models}
    assert kinds == {"qwen3": "sglang", "gpt-oss": "sglang", "llama": "sglang", "noise": "noise"}
    assert models[0].worker_api_key is not None
    assert "secret" not in str([model.public() for model in models])


NOPE = f"{NOISE}[[models]]\nname = 'b'\ntokenizer = '/nope'"


@pytest.mark.parametrize(
    ("arguments", "text", "sentence"),
    [
        (["serve"], NOPE, ": models[1].tokenizer: no such folder: /nope"),
        (["warm", "--model", "b"], NOPE, ": models[1].tokenizer: no such folder: /nope"),
        (["warm", "--model", "b"], f"{NOISE}zzz = 1", ": models[0].zzz: no such setting"),
    ],
)
def test_commands_tell_a_mistake_in_one_sentence(
    tmp_path: Path, arguments: list[str], text: str, sentence: str
) -> None:
    file, schema = tmp_path / "gateway.toml", tmp_path / "schema.json"
    file.write_text(text)
    schema.write_text("{}")
    given = [*arguments, "--config", file, *([schema] if arguments[0] == "warm" else [])]
    done = switchyard(*given, port=0, redis_url="redis://127.0.0.1:1", cache_trust="network")
    told = [line for line in done.stderr.splitlines() if line.startswith("switchyard: ")]
    assert (done.returncode, told) == (2, [f"switchyard: {file}{sentence}"])
    assert "Traceback" not in done.stdout + done.stderr
