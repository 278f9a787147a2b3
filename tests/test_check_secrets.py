"""The scan of `make check` finds planted secrets, and nothing in this project."""

from pathlib import Path

import pytest

from tools.check_secrets import main

# in two parts, so that the scan does not find this file
PLANTED = {
    "a private key": "-----BEGIN " + "RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA\n",
    "a GitHub token": "token = 'gh" + "p_" + "a1B2" * 9 + "'\n",
    "an AWS key": "key = 'AK" + "IA" + "ABCDEFGHIJKLMNOP'\n",
}


@pytest.mark.parametrize("name", PLANTED)
def test_a_planted_secret_is_found(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "settings.py"
    file.write_text(f"first = 1\n{PLANTED[name]}")
    assert main([str(file)]) == 1
    assert f"{file}:2: " in capsys.readouterr().err


def test_text_without_a_secret_is_none(tmp_path: Path) -> None:
    file = tmp_path / "settings.py"
    file.write_text("digest = '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08'\n")
    assert main([str(file)]) == 0
