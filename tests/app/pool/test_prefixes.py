"""The table of prefixes: what counts as a conversation's previous turn."""

import pytest

from adapters.workers import Image, PromptImage
from app.pool import prefixes as module
from app.pool.prefixes import BLOCK, CUTS, Prefixes, PrefixTable

WORKERS = {"a", "b"}


def ids(count: int, start: int = 10) -> list[int]:
    return list(range(start, start + count))


def found(table: PrefixTable, prompt: list[int] | str) -> str | None:
    return table.find(Prefixes(prompt), WORKERS)


def remembered(*prompts: tuple[list[int] | str, str]) -> PrefixTable:
    table = PrefixTable()
    for prompt, worker in prompts:
        table.remember(Prefixes(prompt), worker)
    return table


#: lengths around the ends of blocks
LENGTHS = [1, 5, BLOCK - 1, BLOCK, BLOCK + 1, 3 * BLOCK, 100, 5000]


@pytest.mark.parametrize("length", LENGTHS)
def test_a_prompt_that_begins_with_a_known_one_is_its_next_turn(length: int):
    table = remembered((ids(length), "a"))
    assert found(table, [*ids(length), 1, 2, 3]) == "a"
    assert found(table, ids(length)) == "a", "as do further choices of one request"


@pytest.mark.parametrize("lacking", [cut for cut in CUTS if cut])
def test_the_history_may_lack_the_end_of_a_prompt(lacking: int):
    """Templates end a prompt with an opened reasoning that the next one does not repeat."""
    table = remembered((ids(100), "a"))
    assert found(table, [*ids(100 - lacking), *ids(50, start=5000)]) == "a"
    assert found(remembered((ids(100), "a")), [*ids(100 - CUTS[-1] - 1), *ids(50, 5000)]) is None


def test_text_is_a_prompt_too():
    table = remembered(("user: hello", "a"))
    assert found(table, "user: hello. assistant: hi. user: bye") == "a"
    assert found(table, "another") is None


def test_the_longest_known_prefix_decides():
    table = remembered((ids(100), "a"), (ids(200), "b"))
    assert found(table, ids(300)) == "b"


def test_a_prefix_of_two_different_prompts_is_no_conversation():
    """A short question after a system prompt: the cuts reach into the system prompt."""
    system = ids(100)
    table = remembered(([*system, 1], "a"), ([*system, 2], "a"))
    assert found(table, [*system, 3]) is None
    assert found(table, [*system, 1, 7]) == "a"


def test_a_prompt_with_many_different_continuations_is_no_conversation():
    """Each of its prefixes serves one continuation: a few edited or repeated turns are allowed."""
    table = remembered((ids(100), "a"))
    for number in range(1, 1 + len(CUTS)):
        for _ in range(3):  # the same again is a retry, or a further choice
            assert found(table, [*ids(100), number]) == "a"
    assert found(table, [*ids(100), 9]) is None


def test_a_worker_that_may_not_be_picked_is_not_found():
    table = remembered((ids(50), "a"), (ids(100), "gone"))
    assert found(table, ids(200)) == "a"


def test_the_table_forgets_the_oldest_prompts(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "MAX_ENTRIES", 2 * len(CUTS))
    prompts = [ids(100, start=1000 * number) for number in range(1, 4)]
    table = remembered(*((prompt, "a") for prompt in prompts))
    assert len(table) == 2 * len(CUTS)
    assert [found(table, [*prompt, 1]) for prompt in prompts] == [None, "a", "a"]


def images(*places: tuple[str, int]) -> tuple[PromptImage, ...]:
    """Images by their digests and the places of their placeholders."""
    return tuple(
        PromptImage(Image("image/png", "", digest.encode(), 1, 1), at) for digest, at in places
    )


#: images of the prompt of the next turn, after a turn with ("x", 7) and ("y", 40): the same worker?
NEXT = [
    ((("x", 7), ("y", 40)), True),
    ((("x", 7), ("y", 40), ("z", 101)), True),
    ((("x", 7), ("z", 40)), False),
    ((("y", 7), ("x", 40)), False),
    ((("x", 7),), False),
    ((), False),
]


@pytest.mark.parametrize("length", [57, 63, 64, 65, 100])
@pytest.mark.parametrize(("places", "is_next"), NEXT)
def test_images_count_at_their_places(
    places: tuple[tuple[str, int], ...], is_next: bool, length: int
):
    """Placeholders are equal: only the digests tell two conversations apart."""
    table = PrefixTable()
    table.remember(Prefixes(ids(length), images(("x", 7), ("y", 40))), "a")
    prompt = Prefixes(ids(120), images(*places))
    assert table.find(prompt, WORKERS) == ("a" if is_next else None)


def test_one_image_behind_a_prompt_does_not_change_its_prefixes():
    table = remembered((ids(100), "a"))
    assert table.find(Prefixes(ids(200), images(("x", 100))), WORKERS) == "a"
    assert table.find(Prefixes(ids(200), images(("x", 50))), WORKERS) is None
