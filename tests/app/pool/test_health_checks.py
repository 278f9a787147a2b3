"""Health checks: failed, hung and raising ones, and what is logged of them."""

import pytest

from tests.app.pool.fakes import Fake, counted
from tests.waiting import eventually


async def test_a_check_that_raises_is_a_failed_check_and_is_logged_once():
    """REGRESSION: invalid UTF-8 in one answer ended the checks of all workers, without a line."""
    bad, good = Fake("bad"), Fake("good")
    async with counted(bad, good, health_seconds=0.001) as made:
        await made.pool.start()
        assert made.log.events == []  # a start at which all is well is worth no warning
        bad.state = UnicodeDecodeError("utf-8", b"\xff", 0, 1, "invalid start byte")
        await eventually(lambda: not made.pool.members[0].health.ready)
        checks = bad.checks + 5
        await eventually(lambda: bad.checks > checks and good.checks > checks)
        assert "UnicodeDecodeError" in made.pool.members[0].health.reason
        bad.state = True
        await eventually(lambda: made.pool.status == "ok")
        assert made.log.events.count("worker unready") == 1


async def test_a_hung_check_delays_no_other_worker(monkeypatch: pytest.MonkeyPatch):
    """REGRESSION: all checks waited for the slowest."""
    hung, good = Fake("hung"), Fake("good")
    async with counted(hung, good, health_seconds=0.001) as made:
        await made.pool.start()
        hung.state = None
        before = hung.checks
        await eventually(lambda: hung.checks > before)
        checks = good.checks + 20
        await eventually(lambda: good.checks > checks)
        assert hung.checks == before + 1
        monkeypatch.setattr("app.pool.health_checks.HEALTH_DEADLINE_S", 0.01)
        await made.pool.check()
        assert "no answer to the health check" in made.pool.members[0].health.reason
