"""Workers that lose, load and refuse adapters, and restart: no answer from another adapter, and no
request fails, while one worker has all.
"""

import pytest

from tests.turns import seeds

from .campaign import MODEL, world
from .fake import NAMES

pytestmark = pytest.mark.campaign

#: ``python -m tests.campaigns.adapters`` sends a thousand
REQUESTS = 120


def test_an_adapter_answers_while_a_worker_has_it(short_backoffs: None) -> None:
    seed = seeds(10)[0]
    with world() as made:
        report = made.run(REQUESTS, seed)
    assert (report.wrong, report.failures) == ([], []), f"seed {seed}: {dict(report.changes)}"
    assert set(report.answers) == {MODEL, *(f"{MODEL}:{name}" for name in NAMES)}
