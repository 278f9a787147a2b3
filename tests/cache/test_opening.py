"""A key is given itself or in a file, and what can't be meant is refused without quoting it."""

from pathlib import Path

import pytest

from cache import key_of
from cache.opening import MAX_BYTES

KEY = "sixteen letters."


@pytest.mark.parametrize("text", [KEY, f"{KEY}\n", f" {KEY}\r\n"])
def test_white_space_around_a_key_in_a_file_is_not_part_of_it(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    assert key_of(None, file) == KEY
    assert key_of(KEY, file) == KEY


def test_without_either_there_is_none() -> None:
    assert key_of(None, None) is None
    assert key_of(KEY, None) == KEY


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"another secret, as long", "differ"),
        (KEY[:15].encode(), "differ"),
        (b"x" * (MAX_BYTES + 1), "4,096"),
        (b"\xff" * 16, "UTF-8"),
    ],
)
def test_what_does_not_fit_the_key_is_refused(tmp_path: Path, data: bytes, message: str) -> None:
    file = tmp_path / "key"
    file.write_bytes(data)
    with pytest.raises(ValueError, match=message) as refused:
        key_of(KEY, file)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("text", ["", "\n", "fifteen letters\n"])
def test_a_short_key_is_refused_by_the_file_and_both_numbers(tmp_path: Path, text: str) -> None:
    file = tmp_path / "key"
    file.write_text(text)
    with pytest.raises(ValueError, match=rf"{file} needs 16 .*got {len(text.strip())}"):
        key_of(None, file)


def test_a_file_of_the_largest_size_is_taken(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text("x" * MAX_BYTES)
    assert key_of(None, file) == "x" * MAX_BYTES


def test_what_is_no_file_is_refused_by_its_path(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "missing"):
        with pytest.raises(ValueError, match=str(path)):
            key_of(None, path)
