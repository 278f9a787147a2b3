"""Hostile images take bounded memory; the campaign finds stalls and memory beyond the bounds."""

import pytest

from tests.campaigns.images import MAX_BYTES, MAX_STALL_S, Row, complaints, row_of

pytestmark = pytest.mark.campaign


@pytest.mark.parametrize(
    ("name", "result"),
    [
        ("no image", "unsupported_image_media_type"),
        ("PNG, RGBA, most pixels", "read"),
        ("JPEG, EXIF", "read"),
        ("GIF, frames", "invalid_image_format"),
    ],
)
def test_the_largest_images_take_bounded_memory(name: str, result: str) -> None:
    row = row_of(name, repeats=1)
    assert row.results == {result: 1}
    assert row.taken <= MAX_BYTES


@pytest.mark.parametrize(
    ("stall_s", "taken", "wrong"),
    [
        (MAX_STALL_S, MAX_BYTES, 0),
        (MAX_STALL_S + 0.001, MAX_BYTES, 1),
        (MAX_STALL_S, MAX_BYTES + 1, 1),
    ],
)
def test_a_campaign_finds_a_stall_and_memory(stall_s: float, taken: int, wrong: int) -> None:
    assert len(complaints(Row("a", {}, 0.1, stall_s, taken))) == wrong
