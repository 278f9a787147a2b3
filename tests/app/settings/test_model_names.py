"""The meaning of ids, and the names of adapters that settings refuse."""

from pathlib import Path

import pytest

from app.settings import ModelNames, SettingError, read_settings
from app.settings.model import MAX_NAME_CHARS, ModelSettings

MODELS = """
[[models]]
name = "llama"
aliases = ["gpt", "llama:8b"]
workers = ["http://a"]
tokenizer = "t"
adapters = {legal = "law", "llama:law" = "law"}

[[models]]
name = "x:y"
workers = ["http://b"]
tokenizer = "t"
"""


def names(tmp_path: Path, text: str = MODELS) -> ModelNames:
    file = tmp_path / "gateway.toml"
    file.write_text(text)
    return ModelNames(read_settings(config_file=file).models)


@pytest.mark.parametrize(
    ("name", "meaning"),
    [
        ("llama", ("llama", None)),
        ("gpt", ("llama", None)),
        ("legal", ("llama", "law")),
        ("llama:law", ("llama", "law")),
        ("gpt:law", ("llama", "law")),
        ("llama:unheard/of:v2", ("llama", "unheard/of:v2")),
        # a whole name wins over its parts, and the longest name among those
        ("llama:8b", ("llama", None)),
        ("llama:8b:law", ("llama", "law")),
        ("x:y", ("x:y", None)),
        ("x:y:z", ("x:y", "z")),
        ("llama:llama:law", ("llama", "llama:law")),
        ("x", None),
        ("x:z", None),
        ("llama:", None),
        (":law", None),
        ("", None),
        (":", None),
        ("llama:*", None),
        ("llama: law", None),
        ("llama:a\nb", None),
        ("llama:\ud800", None),
        ("legal:law", None),
        ("llama:" + "a" * 128, ("llama", "a" * 128)),
        ("llama:" + "a" * 129, None),
        (":" * 1_000_000, None),
        ("llama" + ":" * 1_000_000, None),
    ],
    ids=lambda value: repr(value)[:40],
)
def test_an_id_has_one_meaning(
    tmp_path: Path, name: str, meaning: tuple[str, str | None] | None
) -> None:
    assert names(tmp_path).find(name) == meaning


def test_the_longest_model_may_be_followed_by_an_adapter(tmp_path: Path) -> None:
    long = "m" * MAX_NAME_CHARS
    found = names(tmp_path, f'[[models]]\nname = "{long}"')
    assert found.find(f"{long}:law") == (long, "law")


def test_an_adapter_whose_id_means_something_else_has_no_id(tmp_path: Path) -> None:
    found = names(tmp_path)
    assert found.leads_to("llama", "law") and found.leads_to("x:y", "z")
    assert not found.leads_to("llama", "8b"), "an alias of the model"
    assert not found.leads_to("llama", "8b:law"), "the adapter law"


MODEL = '[[models]]\nname = "{name}"\nworkers = ["http://a"]\ntokenizer = "t"\nadapters = {table}\n'

MISTAKES: dict[str, tuple[str, str]] = {
    "a name that is empty": ('{a = ""}', "an adapter's name must have 1 to 128 printable"),
    "all adapters": ('{a = "*"}', "and not be '*'; got '*'"),
    "an alias that is empty": ('{"" = "law"}', "must have 1 to 200 printable characters"),
    "an alias that is the model": ('{m = "law"}', "'m' is a name or alias of the model 'm'"),
    "an alias that reads as another": ('{"m:tax" = "law"}', "'m:tax' means 'm:tax' and cannot"),
    "all adapters as an alias": ('{"m:*" = "law"}', "'m:*' would mean all adapters of a model"),
    "a list": ('["law"]', "Input should be an object"),
    "a number": ("{a = 1}", "Input should be a valid string"),
}


@pytest.mark.parametrize(("table", "words"), MISTAKES.values(), ids=MISTAKES.keys())
def test_a_mistake_names_its_place(tmp_path: Path, table: str, words: str) -> None:
    with pytest.raises(SettingError) as caught:
        names(tmp_path, MODEL.format(name="m", table=table))
    assert "models[0].adapters" in str(caught.value) and words in str(caught.value)


def test_the_id_of_an_adapter_may_not_mean_another_model(tmp_path: Path) -> None:
    other = MODEL.format(name="m:law", table="{}")
    with pytest.raises(SettingError, match="'m:law' means the model 'm:law' and cannot mean"):
        names(tmp_path, MODEL.format(name="m", table='{a = "law"}') + other)
    with pytest.raises(SettingError, match="'m:law:v2' means 'm:law:v2' and cannot mean"):
        names(tmp_path, MODEL.format(name="m", table='{a = "law:v2"}') + other)


def test_one_alias_stands_for_one_adapter_of_all_models(tmp_path: Path) -> None:
    both = MODEL.format(name="m", table='{a = "law"}') + MODEL.format(name="n", table='{a = "law"}')
    with pytest.raises(SettingError, match=r"models\[1\].adapters: 'a' is a name or alias of the"):
        names(tmp_path, both)


@pytest.mark.parametrize("workers", ["noise", "transformers"])
def test_models_in_this_process_have_no_adapters(workers: str) -> None:
    with pytest.raises(SettingError, match="SWITCHYARD_ADAPTERS need SGLang servers"):
        read_settings(workers=workers, model="m", adapters="a=law")


@pytest.mark.parametrize(
    ("text", "table"),
    [
        ("legal=law", {"legal": "law"}),
        (" legal = law , tax=org/tax=v2,", {"legal": "law", "tax": "org/tax=v2"}),
        ("", {}),
    ],
)
def test_a_variable_has_pairs(text: str, table: dict[str, str]) -> None:
    (model,) = read_settings(workers="http://w", model="m", adapters=text).models
    assert model.adapters == table


@pytest.mark.parametrize("text", ["law", "=law", "law=", "a=b,a=c", "a=b,c"])
def test_a_variable_without_pairs_is_a_mistake(text: str) -> None:
    with pytest.raises(SettingError, match=r"SWITCHYARD_ADAPTERS: "):
        read_settings(workers="http://w", model="m", adapters=text)


def test_adapters_that_settings_name_are_bounded() -> None:
    table = {f"a{number}": "law" for number in range(2_001)}
    common = {"workers": ("http://w",), "model": "m"}
    with pytest.raises(ValueError, match="at most 2000"):
        ModelSettings.model_validate({**common, "adapters": table})
    del table["a0"]
    assert len(ModelSettings.model_validate({**common, "adapters": table}).adapters) == 2_000
