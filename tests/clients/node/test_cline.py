"""Cline, which shows images of tools in a message of the user."""

from pathlib import Path

import pytest

from tests.app.pictures import png

from . import sandbox
from .agents import AGENTS, PROMPT
from .scripted import answers, scripted

pytestmark = pytest.mark.skipif(bool(sandbox.missing()), reason=sandbox.missing() or "a sandbox")

CLINE = AGENTS["Cline CLI"]
TEXT = "The tool says: "


@pytest.mark.parametrize(
    ("sees_images", "shown"),
    [(True, "seen: data:image/png;base64,"), (False, "(see following user message for image)")],
)
def test_a_picture(tmp_path: Path, sees_images: bool, shown: str) -> None:
    """REGRESSION: a model that sees no images refused the message, which ended the session."""
    (tmp_path / "work").mkdir()
    picture = tmp_path / "work" / "picture.png"
    picture.write_bytes(png(60))
    call = {"name": CLINE.tool, "arguments": {"files": [{"path": str(picture)}]}}
    with scripted(tmp_path, [call], TEXT, sees_images=sees_images) as served:
        done = CLINE.run(served, tmp_path, PROMPT)
    assert done.returncode == 0, done.stdout + done.stderr
    assert shown in done.stdout.rpartition(TEXT)[2]
    lines = answers(tmp_path)
    assert [line["status"] for line in lines] == [200, 200]
    unseen = [] if sees_images else ["messages/4/content/0 image_url"]
    assert lines[-1].get("ignored", []) == unseen
